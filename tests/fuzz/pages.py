"""Web pages: bytes of any kind as text, and HTML as Markdown."""

from __future__ import annotations

from dragoman.tools.web.page_text import decode, read_html

from .drawing import Draw, whole
from .target import Target

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>A &amp; B</title><base href="/docs/">
<style>p{color:red}</style><script>document.write("<p>x</p>")</script></head>
<body><nav><a href="../x?a=1&b=2">Home</a> <a href="javascript:alert(1)">no</a></nav>
<main><h1 id=t>Title</h1><p>Some <b>bold</b>, <i>it</i> and <code>a`b</code>.<br>Next
<img src="data:image/png;base64,AAAA" alt="pic">
<ul><li>one<li>two<ol start=3><li>three</ol></ul>
<table><tr><th>a<th colspan=2>b</tr><tr><td>1|2<td><td>3</table>
<pre><code class="language-py">def f():
    return "```"
</code></pre><blockquote>q<blockquote>qq</blockquote></blockquote>
<p hidden>secret</p><p style="display: none">gone</p><dl><dt>t<dd>d</dl><template><p>t</p></template>
<svg><title>s</title><a xlink:href="http://e.example">v</a></svg><math><mi>x</mi></math>
</main><noscript><p>enable</p></noscript><footer>&copy; 2026 &#x1F600; &#0; &#xD800; &bogus;</footer></body></html>"""
WORDS = (
    *(
        "<",
        ">",
        "</",
        "/>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<!DOCTYPE",
        "&",
        "&#",
        "&#x110000;",
        "&lt;",
        "<p>",
        "<div>",
    ),
    *(
        "<table>",
        "<tr>",
        "<td colspan=99999999>",
        "<td rowspan=65534>",
        "<ul>",
        "<li>",
        "<ol start=-99999999999>",
        "<pre>",
    ),
    *(
        "<blockquote>",
        "<blockquote>" * 30,
        "<a href='",
        "<a href=//[>",
        "<a href='http://[::1'>",
        "<img src=x alt='",
        "<h1>",
    ),
    *(
        "<h6>",
        "<code>",
        "```",
        "`",
        "*",
        "_",
        "#",
        "|",
        "\\",
        "[x](y)",
        "<script>",
        "</script>",
        "<style>",
        "<svg>",
        "<math>",
    ),
    *("<select><option>", "<template>", "<noscript>", "<iframe>", "<plaintext>", "<base href='", "<title>", "<main>"),
    *(
        "<div>" * 300,
        "<b>" * 100,
        "<table><tr><td>" * 50,
        "<ul><li>" * 80,
        "\0",
        "\x0c",
        "\u2028",
        "hidden",
        "style=display:none",
    ),
)
CHARSETS = (
    None,
    "utf-8",
    "UTF8",
    "latin-1",
    "utf-16",
    "gb2312",
    "iso-2022-jp",
    "shift_jis",
    "punycode",
    "\0",
    "é",
    "x" * 99,
)
URLS = ("https://example.com/a/b?c=d#e", "http://[::1]:80/", "https://user:p@h.example/", "http://x/%zz/../..")


def draw_page(draw: Draw) -> tuple[str, str, str, bool]:
    html = "".join(draw.some(WORDS, 20)) if draw.one_in(4) else draw.damaged_text(PAGE, WORDS)
    if draw.one_in(60):
        html = draw.choice(WORDS) * draw.choice((100, 1000)) + html
    return whole(html), draw.choice(URLS), draw.choice(("markdown", "markdown", "text", "html")), draw.one_in(3)


def check_page(given: tuple[str, str, str, bool]) -> None:
    html, url, format, rendered = given
    found = read_html(html, url, format, rendered=rendered)  # type: ignore[arg-type]
    assert found.title is None or isinstance(found.title, str)
    # A link may be told with the whole address of its page, a character as an escape, a line of a quote with its marks.
    most = 2000 + len(html) * (60 + len(url))
    assert len(found.text) <= most, f"{len(html)} characters became {len(found.text)}"


def draw_bytes(draw: Draw) -> tuple[bytes, str | None]:
    text = (
        PAGE if draw.one_in(2) else PAGE.replace("utf-8", draw.choice(("latin-1", "utf-16", "gbk", "x", "iso-2022-kr")))
    )
    codec = draw.choice(("utf-8", "utf-16", "latin-1", "cp1252", "utf-8-sig", "gb18030"))
    data = text[: draw.randrange(len(text))].encode(codec, "replace")
    return draw.damaged_bytes(data) if draw.one_in(2) else data, draw.choice(CHARSETS)


def check_bytes(given: tuple[bytes, str | None]) -> None:
    data, charset = given
    text = decode(data, charset)
    text.encode()  # what came out is text: no half of a surrogate pair


_FOUND = [
    # main text of white space alone, in an element that is no block: turbohtml ended the process
    "<span role=main>\u00a0</span>x",
    "<svg><main>\u2028",
]
_PAGES = [(page, URLS[0], format, False) for page in (PAGE, *_FOUND) for format in ("markdown", "text")]

TARGETS = [
    Target("pages", draw_page, check_page, examples=_PAGES),
    Target("page_bytes", draw_bytes, check_bytes),
]
