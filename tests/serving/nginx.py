"""nginx itself on a free port, with a kit's `nginx.conf` before a stand-in of the server."""

import contextlib
import shutil
import socket
import subprocess
import time

import pytest

USER, PASSWORD = "anna", "a pass:word"
_SECONDS_TO_START = 20


@contextlib.contextmanager
def running_nginx(kit, rest_port, folder):
    """Runs nginx in `folder`; gives its port. Its certificate is `certificate.pem` there."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("nginx is not installed (Debian's package nginx-light)")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    _make_certificate(folder)
    path = folder / "nginx.conf"
    path.write_text(_configuration(kit, rest_port, port, folder), encoding="utf-8")
    command = [program, "-e", str(folder / "errors"), "-c", str(path), "-p", str(folder)]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    process = subprocess.Popen(command)
    try:
        _wait(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def _make_certificate(folder):
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl = ["openssl", "req", *kind, "-days", "2", *files, *subject]
    subprocess.run(openssl, check=True, capture_output=True)
    hashed = subprocess.run(
        ["openssl", "passwd", "-apr1", PASSWORD], check=True, capture_output=True, text=True
    ).stdout
    (folder / "users").write_text(f"{USER}:{hashed}")


def _configuration(kit, rest_port, port, folder):
    """The kit's file with other ports and another folder, in the frame that Debian's nginx has."""
    text = (kit / "nginx.conf").read_text("utf-8")
    for old, new in (
        ("127.0.0.1:8501;", f"127.0.0.1:{rest_port};"),
        ("listen 8443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        ("/etc/nginx/translation/", f"{folder}/"),
    ):
        assert old in text
        text = text.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{text}}}\n"
    )


def _wait(port, process):
    end = time.monotonic() + _SECONDS_TO_START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.05)
