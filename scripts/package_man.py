"""The man page, made from what the binary itself prints: package_man.py BINARY writes it to standard output."""
import re
import subprocess
import sys

EXIT_CODES = {
    "0": "done",
    "2": "the command line or the config is wrong; nothing was written",
    "3": "data, weights or a checkpoint cannot be read",
    "4": "a device, a peer or the disk failed",
    "5": "training diverged",
    "70": "a bug in pipetrain; please report it",
    "128+n": "ended by signal n, after a checkpoint was saved",
}


def roff(text: str) -> str:
    """Plain text, with everything escaped that roff would interpret."""
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"), flags=re.M)


def main() -> None:
    binary = sys.argv[1]
    ask = lambda *words: subprocess.run([binary, *words], capture_output=True, text=True, check=True).stdout
    version = ask("--version").split()[1]
    verbs = re.findall(r"^  pipetrain (\S+) +(.+)$", ask("--help"), flags=re.M)
    print(f'.TH PIPETRAIN 1 "" "pipetrain {version}"')
    print(".SH NAME\npipetrain \\- trains neural networks by pipeline parallelism")
    print(".SH SYNOPSIS\n.B pipetrain\n.I VERB\n[options]\n.SH VERBS")
    for verb, summary in verbs:
        print(f".TP\n.B {roff(verb)}\n{roff(summary)}")
    print(".PP\n.B pipetrain\n.I VERB\n.B \\-\\-help\nprints the options of a verb,\n"
          ".B \\-\\-help\\-keys\nevery key of a config.")
    print(".SH FILES\nConfigs and models to begin with are under share/pipetrain, beside the folder of the binary.")
    print(".SH EXIT STATUS")
    for code, meaning in EXIT_CODES.items():
        print(f".TP\n.B {roff(code)}\n{roff(meaning)}")
    print(".SH EXAMPLE\n.nf\npipetrain schedule 1f1b zb_h1 \\-\\-stages 4 \\-\\-microbatches 8\n"
          "pipetrain train /usr/share/pipetrain/configs/quickstart.toml\n.fi")


main()
