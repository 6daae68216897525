import pytest

from beltline.gpu_ref.cuda import headline as cuda_check


@pytest.mark.parametrize("option", ["--out", "--differences"])
@pytest.mark.parametrize("place", ["", "nowhere/found.json"])
def test_a_file_that_cannot_be_written_is_refused_before_any_work(tmp_path, capsys, option, place):
    with pytest.raises(SystemExit) as ended:
        cuda_check.main([option, str(tmp_path / place)])
    assert ended.value.code == 2
    assert f"{option[2:]} must be a file in a directory that exists, not '{tmp_path}" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())
