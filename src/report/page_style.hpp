// The style of a report: light, or dark if the reader prefers that; one column on a narrow screen.
// Of the classes for pictures, c0 to c7 are runs or versions, the others what a stage does.
#pragma once

#include <string_view>

namespace pipetrain {

inline constexpr std::string_view kPageStyle = R"css(
:root{color-scheme:light dark;--ground:#fff;--panel:#f6f8fa;--text:#1f2328;--faint:#57606a;
--line:#d0d7de;--good:#1a7f37;--warn:#9a6700;--warn-ground:#fff8c5;--idle:#eaeef2;
--c0:#3b6fa8;--c1:#c8501e;--c2:#3f8f46;--c3:#9a4fa3;--c4:#1f8f94;--c5:#a07400;--c6:#c04070;--c7:#5d6670}
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--panel:#161b22;--text:#e6edf3;
--faint:#9aa4b0;--line:#30363d;--good:#4cc368;--warn:#e3b341;--warn-ground:#2b2413;--idle:#21262d;
--c0:#6ea8e0;--c1:#ef7d4a;--c2:#6fbf66;--c3:#c78fd0;--c4:#4fbfc4;--c5:#d9a93a;--c6:#ea7ba3;--c7:#9aa4b0}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1200px;padding:20px 24px 60px;background:var(--ground);
color:var(--text);font:15px/1.5 system-ui,Helvetica,Arial,sans-serif}
h1{font-size:26px;margin:8px 0 2px}h2{font-size:19px;margin:36px 0 8px}
p{margin:6px 0}.faint{color:var(--faint);fill:var(--faint)}
.warning{background:var(--warn-ground);border-left:4px solid var(--warn);padding:8px 12px;margin:10px 0}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:16px 0}
.tile{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:10px 12px}
.tile b{display:block;font-size:20px}.tile span{color:var(--faint);font-size:13px;display:block}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:18px}
figure{margin:0;min-width:0}figcaption{font-weight:600;margin-bottom:4px}
svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,Helvetica,Arial,sans-serif;fill:var(--text)}
svg text.faint{fill:var(--faint)}.mid{text-anchor:middle}.end{text-anchor:end}
svg text.in{fill:var(--ground);pointer-events:none}
.grid{stroke:var(--line);stroke-width:1}
path{fill:none;stroke:currentColor;stroke-width:1.8}circle{fill:currentColor}
.d1 path{stroke-dasharray:6 3}.d2 path{stroke-dasharray:2 3}
.c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}
.c4{color:var(--c4)}.c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}
.scroll{overflow-x:auto;max-width:100%}.timeline{min-width:900px}
rect.forward{fill:currentColor;fill-opacity:.6}rect.backward{fill:currentColor}
rect.update,i.update{fill:var(--c7);background:var(--c7)}
rect.unversioned,i.unversioned{fill:var(--text);background:var(--text);fill-opacity:.3}
.legend i.unversioned{background:var(--text);opacity:.3}
rect.break{fill:var(--ground)}
rect.idle,i.idle{fill:var(--idle);background:var(--idle)}
rect.transfer,i.transfer{fill:var(--c2);background:var(--c2)}
rect.waiting,i.waiting{fill:var(--c5);background:var(--c5);fill-opacity:.45}
i.waiting{opacity:.55}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;margin-top:6px}
.legend i{display:inline-block;width:12px;height:12px;margin-right:6px;vertical-align:-1px;background:currentColor}
.legend i.forward{opacity:.6}
.legend i.update{background:var(--c7)}.legend i.idle{background:var(--idle)}
.legend i.transfer{background:var(--c2)}.legend i.waiting{background:var(--c5)}
table{border-collapse:collapse;font-size:14px;white-space:nowrap;margin-top:12px}
th,td{padding:5px 12px 5px 0;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
th{color:var(--faint);font-weight:600;white-space:normal;vertical-align:bottom}th:first-child,td:first-child{text-align:left}
.best{color:var(--good);font-weight:700}
.bar{height:6px;width:110px;background:var(--idle);border-radius:2px;margin:3px 0 0 auto;display:flex;overflow:hidden}
.bar i{display:block;height:6px;background:currentColor}
.bar.wide{width:100%;height:18px}.bar.wide i{height:18px}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:10px;overflow-x:auto;font-size:13px}
summary{cursor:pointer;font-weight:600;margin:10px 0}
)css";

}  // namespace pipetrain
