# ruff: noqa: E501 - CSS
"""The page's one style sheet: light, dark and print; no font or picture from elsewhere."""

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--page:#fff;--box:#f6f8fa;--bar:#0860ca;--on-bar:#fff;--faint:#8c959f;
--error:#1b1f24;--bad:#a40e26;--bad-box:#ffebe9;--care:#7d4e00;--care-box:#fff8c5}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9ea7b3;--line:#3d444d;--page:#0d1117;--box:#161b22;--bar:#58a6ff;--on-bar:#0d1117;
--faint:#768390;--error:#e6edf3;--bad:#ff9a90;--bad-box:#3c1618;--care:#e3b341;--care-box:#2e2608}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);background:var(--page);margin:0}
header,main,footer{max-width:66rem;margin:0 auto;padding:0 1rem}
header{padding-top:1.5rem}
footer{padding-bottom:3rem}
h1{font-size:1.8rem;line-height:1.2;margin:.4rem 0 .2rem}
h2{font-size:1.3rem;margin:2.6rem 0 .8rem;padding-bottom:.2rem;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.6rem 0 .4rem}
p,ul,dl{margin:.5rem 0 .9rem}
p,li,dd{max-width:46rem;overflow-wrap:break-word}
.cluster p{max-width:none}
li{margin:.25rem 0}
a{color:var(--bar)}
a:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--bar);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.4rem .8rem;z-index:1}
.soft{color:var(--soft)}
nav ol{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;padding:0;margin:.8rem 0 0;font-size:.95rem}
nav li{margin:0}
.not-private{background:var(--bad-box);color:var(--bad);border:2px solid var(--bad);border-radius:6px;padding:.8rem 1rem;margin:0 0 1rem;font-weight:600}
.not-private strong{display:block;font-size:1.25rem}
.not-private p{margin:.3rem 0 0}
.guarantee,.warning{border-left:5px solid var(--bar);background:var(--box);padding:.7rem 1rem;border-radius:0 6px 6px 0;max-width:46rem}
.guarantee.not{border-color:var(--bad);background:var(--bad-box);color:var(--bad);font-weight:600}
ul.warnings{list-style:none;padding:0}
.warning{margin:.5rem 0;border-color:var(--care);background:var(--care-box)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.9rem 1.2rem}
.facts div{border-top:2px solid var(--line);padding-top:.3rem}
.facts dt{color:var(--soft);font-size:.9rem}
.facts dd{margin:0;font-weight:600}
.figure{display:flex;flex-wrap:wrap;gap:.4rem 1.6rem;align-items:center;background:var(--box);border-radius:6px;padding:.8rem 1rem;max-width:46rem}
.figure b{font-size:2.6rem;line-height:1.1;white-space:nowrap}
.figure p{flex:1 1 16rem;margin:.2rem 0}
figure{margin:1rem 0}
.map{max-width:46rem}
figcaption{color:var(--soft);font-size:.93rem;margin-top:.4rem;max-width:46rem}
svg{display:block;max-width:100%;overflow:hidden}
svg text{fill:var(--ink);font:15px system-ui,sans-serif}
svg .track{fill:var(--box);stroke:var(--line)}
svg .bar{fill:var(--bar)}
svg .bar.faint{fill:var(--faint)}
svg .error{stroke:var(--error);stroke-width:2}
svg .zero{stroke:var(--faint);stroke-width:1}
svg .server{fill:var(--faint);fill-opacity:.5}
svg .center{fill:var(--bar);stroke:var(--page);stroke-width:2}
svg .label{fill:var(--on-bar);text-anchor:middle;font-weight:700;font-size:21px}
svg .frame{fill:none;stroke:var(--line)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);font-size:.93rem;padding-bottom:.4rem}
th,td{padding:.35rem .5rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:middle}
th{font-weight:600}
thead th{color:var(--soft);vertical-align:bottom}
th:first-child,td.left{text-align:left}
.ledger td,.ledger thead th,.value{white-space:nowrap}
.sizes th{white-space:nowrap}
.sizes td.draw{width:50%}
thead th.draw{text-align:left}
.clusters{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,29rem),1fr));gap:1rem 1.6rem}
.cluster{border:1px solid var(--line);border-radius:6px;padding:.2rem .9rem .8rem;min-width:0}
.cluster h3{margin:.6rem 0 0}
.cluster p{margin:.1rem 0 .5rem}
.cluster table{font-size:.9rem;table-layout:fixed}
.cluster th:first-child{width:29%;overflow-wrap:anywhere}
.cluster .here{width:29%}
.cluster .draw{width:26%}
.cluster caption,.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap;padding:0}
.once{white-space:nowrap}
.noisy,.noisy th{color:var(--care)}
.tag{display:block;font-weight:400;font-size:.82rem;color:var(--care)}
code,pre{font-family:ui-monospace,"Cascadia Mono",Menlo,Consolas,monospace;font-size:.92em;background:var(--box);border-radius:4px}
code{padding:.1em .3em}
pre{padding:.8rem 1rem;overflow-x:auto}
pre code{padding:0}
.curve{stroke:var(--bar);stroke-width:2.5}.tick{font-size:13px;text-anchor:middle;fill:var(--soft)}
@media(max-width:40rem){th,td{padding:.3rem .3rem}.sizes td.draw{width:34%}.cluster{padding:.2rem .6rem .6rem}
.cluster table{font-size:.84rem}.cluster th:first-child{width:28%}.cluster .here{width:25%}.cluster .draw{width:24%}}
@media print{body{font-size:10.5pt}header,main,footer{max-width:none;padding:0}nav,.skip{display:none}h2,h3,caption{break-after:avoid}
.cluster,tr,figure,.figure,.guarantee{break-inside:avoid}.scroll{overflow:visible}pre{white-space:pre-wrap;overflow-wrap:anywhere}.ledger td,.ledger thead th{white-space:normal}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""
