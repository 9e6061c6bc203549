"""A rule that allows one program does not allow another one that the line names to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.engine import Approval, ToolPolicy, verdict_on
from dragoman.engine.named_programs import names_another
from dragoman.engine.shell_reach import Folder
from dragoman.model import Call, NativeCall, RunCommand
from dragoman.serve.hook.deciding import Tool

HOSTILE = r"""
make SHELL=./x
make SHELL=/bin/bash .SHELLFLAGS=-c test
make test CC=./x
make CC=x all
make X=./evil test
make V='$(shell ./x)' test
make -f other test
make -sf other
make --file=other test
make --makef=other test
make --eval='all:;./x' all
make -Esomething all
make MAKEFLAGS=--eval=x test
make PATH=.:/bin test
make LD_PRELOAD=./x.so test
make GIT_SSH_COMMAND=./x fetch
make -C /tmp/x all
make -C ../x all
make --directory=/tmp all
make -C/tmp all
make SHELL:=./x
make 'x!=./x'
make ' x != ./x'
make x-y!=./x test
make -[f] x
npm test -C /tmp/x
pnpm --dir=../x test
yarn --cwd /tmp/x test
cargo -C /tmp/x test
go test -C /tmp/x ./...
go test -C=/tmp/x ./...
go test --C=../x ./...
go test -gccgoflags=-B./x
git -c core.pager=./x log
git -c alias.x='!sh' x
git -c 'core.sshCommand=./x' fetch
git --config-env=core.pager=X log
git --exec-path=. status
git --git-dir=/tmp/x/.git status
git -C /tmp/x status
git clone -c core.fsmonitor=./x a b
git clone -u ./x host:a
git clone --template=./x a b
git clone 'ext::sh -c ./x' b
git fetch --upload-pack=./x origin
git push --receive-pack ./x origin
git rebase -x ./x HEAD~2
git rebase --exec ./x HEAD~2
git grep -O./x word
git difftool -x ./x HEAD
git bisect run ./x
git submodule foreach ./x
curl -sSK options
curl --config options https://example.org
pytest -xvspevil
pytest -qp evil tests
pytest -vc other.ini
pytest --pdbcls=evil:X
pytest -n 2 --tx 'popen//python=./x'
pytest @options.txt
mypy --config-file other.ini src
pylint --load-plugins=x src
flake8 --append-config=x
eslint --rulesdir x src
eslint -c x.js src
prettier --plugin=./x.js src
jest --config x
vitest run --config=x
mocha -r ./x
rspec -r./x
rubocop --require ./x
rake -f x
phpunit --bootstrap x.php
ctest -S x.cmake
bazel --bazelrc=x build
pre-commit run -c x.yaml
git filter-branch --tree-filter ./x HEAD
git config core.pager ./x
git config alias.x '!sh'
git config --global core.hooksPath ./x
git -C . -c core.editor=./x commit
find . -name a -exec ./x '{}' +
find . -okdir ./x '{}' +
fd a -x ./x
tar -cf a.tar --checkpoint=1 --checkpoint-action=exec=./x b
tar --to-comm=./x -xf a.tar
tar -I ./x -xf a.tar
tar xIf ./x a.tar
rsync -e ./x a host:b
rsync -ave ./x a host:b
rsync --rsync-path=./x a host:b
ssh -o ProxyCommand=./x host
ssh -oProxyCommand=./x host
ssh -vo 'LocalCommand ./x' host
ssh -F ./config host
scp -S ./x a host:b
scp -o ProxyCommand=./x a host:b
env -S './x y'
awk 'BEGIN{system("./x")}'
awk '{print | "./x"}' a
awk '"./x" | getline' a
awk -f x.awk a
sed e a
sed '1e ./x' a
sed 's/a/b/e' a
sed -n 's|a|./x|ge' a
sed -f x.sed a
vim -c '!./x' a
vim '+!./x' a
vim --cmd 'call system(1)' a
vim -S x.vim
less '+!./x' a
man -P ./x ls
sort --compress-program=./x a
sort --compress-prog ./x a
split --filter=./x a
zip -T a.zip b -TT ./x
wget -e use_askpass=./x host
rg --pre ./x word
npm run build --script-shell=./x
cargo --config 'target.x.runner=./x' test
go test -exec ./x
go build -toolexec=./x
gcc -fplugin=./x.so a.c
gcc -B./x a.c
cmake -DCMAKE_C_COMPILER=./x .
cmake -P x.cmake
cmake --build . -- SHELL=./x
pytest -p evil tests
pytest -c /tmp/x.ini
python -m pytest -p evil
sqlite3 a.db '.shell ./x'
psql -c '\! ./x'
socat - EXEC:./x
nc -e ./x host 1
tcpdump -i any -z ./x
gdb -ex '!./x' a
svn diff --diff-cmd ./x
hg --config alias.x=./x x
sudo make SHELL=./x
timeout 5 git -c alias.x='!sh' x
anything --pager=./x
anything --post-command ./x
anything --shell ./x
"""
ORDINARY = r"""
make test
make -j4 all
make -j 4 -k test lint
make V=1 test
make test TARGET=hooks FUZZ_SECONDS=60
make -C src all
make install PREFIX=/usr/local DESTDIR=./out
make -n test
make -s -B docs
make --no-print-directory test
make test ARGS='-k name'
make PYTHONS=3 test
git status
git commit -m 'fix: a thing'
git commit -c HEAD
git commit --amend --no-edit
git log --oneline -5
git log -c -3
git diff --stat HEAD~1
git -C src status
git -c user.name=me -c user.email=a@b commit -m x
git -c color.ui=false log
git --no-pager log -3
git push -u origin main
git push --tags
git fetch --tags --prune
git clone https://example.com/a b
git clone --depth 1 https://example.com/a
git clean -xn
git rebase main
git config user.name me
git config --get core.pager
git config --list
git grep -n word
git bisect start
git submodule update --init
git checkout -b feature
git stash pop
find . -name '*.py' -type f
find src -newer a.py -print
fd -e py name
tar -czf a.tar.gz src
tar xzf a.tar.gz
tar -tf a.tar
tar --exclude=node_modules -cf a.tar .
rsync -av --delete a/ b/
rsync -az --exclude=.git a host:b
ssh host ls
ssh -o StrictHostKeyChecking=no -p 22 host
ssh -oConnectTimeout=5 host
scp -r a host:b
awk '{print $1}' a
awk -F, 'NR > 1 || /x/ {s += $2} END {print s}' a
sed -n 1,5p a
sed 's/one/the other/g' a
sed -i -e 's/a/b/' -e 's|c|d|g' a
sed '/^here/d' a
vim +12 a
less a
man ls
sort -k2 -n a
npm run build
npm install --save-dev eslint
cargo test --release
cargo build -p crate
go test ./...
go build -o out ./cmd
gcc -O2 -Wall -o a a.c
cmake -B build -DCMAKE_BUILD_TYPE=Release
cmake --build build -j4
pytest -x -q tests
pytest -p no:cacheprovider tests
python -m pytest -k name -q
sqlite3 a.db 'select count(*) from t'
psql -c 'select 1'
rg -n word src
rg --glob '*.py' word
uv sync
kubectl get pods
anything --verbose --output=x
"""


def _verdict(line: str, pattern: str, root: Path) -> str:
    policy = ToolPolicy(default="ask", approval=(Approval("allow", command=pattern),))
    call = Call("1", (RunCommand(line),), NativeCall("1", "Bash"))
    return verdict_on(call, (Tool("Bash"),), policy, Folder(str(root), str(root)))[0]


@pytest.mark.parametrize("lines, verdict", [(HOSTILE, "ask"), (ORDINARY, "allow")], ids=["hostile", "ordinary"])
def test_a_rule_on_a_program_covers_what_it_does_and_no_program_that_is_named_to_it(
    lines: str, verdict: str, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    decided = {line: _verdict(line, f"{line.split()[0]} *", tmp_path) for line in lines.strip().splitlines()}
    assert {line: found for line, found in decided.items() if found != verdict} == {}
    assert len(decided) > 60


def test_a_rule_that_says_the_words_itself_covers_them_as_often_as_it_says_them(tmp_path: Path) -> None:
    verdicts = {
        ("make SHELL=./x", "make SHELL=./x"): "allow",
        ("make SHELL=./x", "*"): "allow",
        ("make -f ci.mk test", "make -f ci.mk *"): "allow",
        ("make -f ci.mk -f other test", "make -f ci.mk *"): "ask",
        ("git -c core.pager=cat log -3", "git -c core.pager=cat log*"): "allow",
        ("git -c core.pager=cat -c alias.x=./x x", "git -c core.pager=cat *"): "ask",
        ("find . -exec grep x '{}' +", "find * -exec grep *"): "allow",
        ("find . -exec ./x '{}' + -exec grep x '{}' +", "find * -exec grep *"): "ask",
        ("git bisect run ./x", "git bisect *"): "ask",
        ("git bisect run ./x", "git bisect run *"): "allow",
        ("git bisect good", "git bisect *"): "allow",
        ("make test && make SHELL=./x", "make *"): "ask",
        ("make test && make lint", "make *"): "allow",
        ("m'a'ke SHELL=./x", "m*"): "ask",
        ("make 'SH'ELL=./x", "make *"): "ask",
        ("/usr/bin/make SHELL=./x", "/usr/bin/make *"): "ask",
    }
    assert {key: _verdict(*key, tmp_path) for key in verdicts} == verdicts


@pytest.mark.parametrize("program", ["cmake", "sqlite3", "make", "psql"])
def test_a_word_too_long_to_look_at_counts_as_one_that_names_a_program(program: str) -> None:
    word = "-D" + "COMPILER" * 100_000  # the pattern for cmake would search it for hours
    assert names_another([program, word], f"{program} *", lambda folder: False) == word
