"""The page in a real browser: it fits a phone, prints, and runs nothing a user's table contains."""

import html
import re
import shutil
import subprocess

import pytest

from shtarkov.report import render_html
from tests.reports import make_report

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--allow-file-access-from-files",
    "--virtual-time-budget=2000",
)
POLICY = re.compile(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>")
# Every way a column's name might get its own code to run; the frame's name says where it did.
ATTACK = "parent.document.body.dataset[window.name] = 'ran'"
NAMES = (
    f"<script>{ATTACK}</script>",
    f'"><img src="none" onerror="{ATTACK}">',
    f'</title></text></svg><svg onload="{ATTACK}"/>',
    "{{ report.seed }}{% raw %}" + "ü" * 80,
)
FRAMES = {"wide": 1000, "phone": 390, "unescaped": 1000, "guarded": 1000}


@pytest.fixture(name="browse")
def make_browser(tmp_path):
    """Give a function that opens a file and returns what the browser writes."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no chromium was found: install Debian's package chromium to run this")

    def browse(target, *options):
        command = [program, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", *options]
        done = subprocess.run(
            [*command, target.as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout

    return browse


def nasty_report():
    return make_report(
        "matched",
        names=NAMES,
        reasons=(f"reason {NAMES[0]}",),
        notes=(f"note {NAMES[1]}",),
        classes=(NAMES[2], "b"),
        eta=1.0,
    )


def write_frames(folder):
    """Write the page, and beside it what it would be without escaping, and a page of frames."""
    page = render_html(nasty_report())
    unescaped = html.unescape(page)
    pages = {
        "wide": POLICY.sub("", page),
        "phone": POLICY.sub("", page),
        "unescaped": POLICY.sub("", unescaped),
        "guarded": unescaped,
    }
    frames = []
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        measure = f"document.body.dataset.size{name} = contentDocument.documentElement.scrollWidth"
        frames.append(
            f'<iframe name="{name}" src="{name}.html" width="{FRAMES[name]}" height="900" '
            f'style="border:0" onload="{measure}"></iframe>'
        )
    target = folder / "frames.html"
    target.write_text(f"<body>{''.join(frames)}</body>", encoding="utf-8")
    return target


def test_the_page_fits_its_window_and_runs_no_code_of_the_users(tmp_path, browse):
    body = re.search(r"<body[^>]*>", browse(write_frames(tmp_path), "--dump-dom"))
    assert body
    found = dict(re.findall(r'data-(\w+)="(\w+)"', body[0]))
    assert found.get("unescaped") == "ran"  # without escaping the attack works
    assert {"wide", "phone", "guarded"} & set(found) == set()
    assert int(found["sizewide"]) <= FRAMES["wide"]
    assert int(found["sizephone"]) <= FRAMES["phone"]


def test_the_page_prints(tmp_path, browse):
    target, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    target.write_text(render_html(nasty_report()), encoding="utf-8")
    browse(target, f"--print-to-pdf={printed}")
    content = printed.read_bytes()
    assert content.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type /Page\b", content)) <= 4
