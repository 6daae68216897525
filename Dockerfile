# Runs README's two commands on a fresh Debian: docker build -t beltline . && docker run --rm beltline
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates g++ make python3 python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home economist
USER economist
WORKDIR /home/economist/beltline
COPY --chown=economist:economist . .
CMD ["sh", "-c", "make sim && make test"]
