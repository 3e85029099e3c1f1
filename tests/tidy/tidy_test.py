# Holds the house rules: prints each finding in the source tree and fails if there is one.
#   python3 tests/tidy/tidy_test.py [ROOT]
import sys
from pathlib import Path

from rules import check

root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
findings = check(root)
for finding in findings:
    print(finding)
print(f"{len(findings)} findings")
sys.exit(bool(findings))
