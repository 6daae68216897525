#!/bin/sh
# Builds the checkpoint from which AWS makes an image:
#
#     sh build.sh
#
# Needs the HDK: source hdk_setup.sh of github.com/aws/aws-fpga, branch f2, first. Exit code 0 with the tarball's name,
# or 1 with a sentence that begins with "build:".
set -eu

fail() {
    echo "build: $1" >&2
    exit 1
}

[ -n "${HDK_SHELL_DIR:-}" ] || fail "HDK_SHELL_DIR is not set: source hdk_setup.sh of aws-fpga, branch f2"
command -v vivado >/dev/null || fail "vivado is not on the path"
cd "$(dirname "$0")/cl_beltline/build/scripts"
CL_DIR=$(cd ../.. && pwd)
export CL_DIR
top=$(cd ../../.. && pwd)
for script in aws_build_dcp_from_cl.py build_all.tcl build_level_1_cl.tcl encrypt.tcl; do
    [ -e "$HDK_SHELL_DIR/build/scripts/$script" ] || fail "$HDK_SHELL_DIR/build/scripts has no $script"
    ln -sf "$HDK_SHELL_DIR/build/scripts/$script" "$script"
done

# The tag is part of the names of all files that the HDK's script writes. The exit code of that script does not show
# failures, and it writes a tarball even if timing is not met; so the files are checked below.
tag=@NAME@
rm -rf ../checkpoints ../reports
mkdir -p ../checkpoints ../reports
python3 aws_build_dcp_from_cl.py --cl cl_beltline --mode small_shell --tag "$tag" || fail "the HDK's script failed"
[ ! -e "../checkpoints/cl_beltline.$tag.post_route.VIOLATED.dcp" ] \
    || fail "timing is not met: see $CL_DIR/build/reports"
[ -e "../checkpoints/cl_beltline.$tag.post_route.dcp" ] || fail "no routed checkpoint: see $tag.vivado.log in $PWD"
[ -e "../checkpoints/$tag.Developer_CL.tar" ] || fail "no tarball: see $tag.vivado.log in $PWD"
vivado -mode batch -nojournal -log report.log -source "$top/report.tcl" \
    -tclargs "../checkpoints/cl_beltline.$tag.post_route.dcp" ../reports >/dev/null \
    || fail "the reports failed: see report.log in $PWD"
echo "build: $CL_DIR/build/checkpoints/$tag.Developer_CL.tar"
