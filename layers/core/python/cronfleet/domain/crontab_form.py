"""The two forms of a crontab: a user's own, and the system's, which names the user of each job before its command.

Nothing in a file says which it is. Where the caller does not say, the words after the times do, if some are plainly
users or plainly none; else the file's path (`/etc/crontab`, `/etc/cron.d/…`, `/var/spool/cron/…`); else all words are
weighed, and the comments.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

USER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\$?(:[A-Za-z_][A-Za-z0-9_.-]*)?", re.ASCII)
"""What cron takes for a user; with a group on FreeBSD."""

_USUAL_USERS: Final = """
    root daemon nobody www-data www apache apache2 nginx httpd http postgres mysql mongodb redis munin
    nagios icinga zabbix smmsp mailman debian-spamd amavis clamav logcheck list bin sys operator ubuntu
    debian centos ec2-user vagrant deploy deployer jenkins gitlab puppet zope plone oracle tomcat
    asterisk uucp news proxy man
"""
_USUAL_COMMANDS: Final = """
    php python python2 python3 perl ruby node npm npx yarn bash sh zsh dash ksh curl wget cd test nice
    ionice flock sudo su env export source echo printf cat cp mv rm find rsync tar gzip zip docker
    docker-compose podman kubectl git svn hg make java go bundle rake rails composer artisan drush wp
    certbot mysqldump pg_dump psql mysql mongodump mysqlcheck service systemctl if for while sleep
    timeout date touch mkdir chown chmod ssh scp logger run-parts lockrun setlock chronic command exec
    eval true false aws gcloud az s3cmd ansible ansible-playbook ntpdate killall kill pkill reboot
    shutdown apt apt-get yum dnf pip pip3 uv poetry pipenv conda Rscript R screen tmux xvfb-run DISPLAY
    notify-send vcgencmd ping mail sendmail python3.6 python3.7 python3.8 python3.9 python3.10
    python3.11 python3.12
"""
_USERS: Final = frozenset(_USUAL_USERS.split())
_COMMANDS: Final = frozenset(_USUAL_COMMANDS.split())
_SCRIPT: Final = re.compile(r"\.(sh|py|pl|rb|php|js|bash|ksh|R|jar|exe)$")
_BEGINS_A_COMMAND: Final = re.compile(r"[/\[({~.!\"'$]|[A-Za-z_]\w*=|:\s|:$")
_HEADER: Final = re.compile(
    r"\b(user(-?name)?|who)\b\W+(name\W+)?(command|cmd)\b|/etc/(crontab|cron\.d/)", re.IGNORECASE
)
_PLAIN: Final = 3
"""What a word weighs that is plainly a user's name, or plainly none."""
_SYSTEM_PATH: Final = re.compile(r"(^|/)etc/crontab$|(^|/)cron\.d/")
_USER_PATH: Final = re.compile(r"/spool/cron|/crontabs/|/cron/tabs/")


class Form(StrEnum):
    """Whether a job names its user."""

    USER = "user"
    SYSTEM = "system"


def form_of_path(path: str) -> Form | None:
    """What the place of a file says."""
    if _SYSTEM_PATH.search(path):
        return Form.SYSTEM
    return Form.USER if _USER_PATH.search(path) else None


def plain_form(rests: Iterable[str]) -> Form | None:
    """The form that some of `rests`, that which follows each job's times, plainly have, and none plainly has not."""
    plain = {weight > 0 for rest in rests if abs(weight := _weight(rest)) >= _PLAIN}
    if len(plain) != 1:
        return None
    return Form.SYSTEM if plain.pop() else Form.USER


def form_of_content(rests: Iterable[str], comments: Iterable[str]) -> Form:
    """What all `rests` and the comments together say; the user's where they are even."""
    weight = _PLAIN * any(map(_HEADER.search, comments)) + sum(map(_weight, rests))
    return Form.SYSTEM if weight > 0 else Form.USER


def _weight(rest: str) -> int:
    """How much speaks for a user's name at the beginning of `rest` (below 0: against it)."""
    first, *others = re.split("[ \t]+", rest, maxsplit=1)
    command = others[0] if others else ""
    if first in _USERS:
        return _PLAIN if command else 1
    if not command or not USER_NAME.fullmatch(first) or first in _COMMANDS or _SCRIPT.search(first):
        return -_PLAIN
    if _BEGINS_A_COMMAND.match(command) or re.split("[ \t]", command)[0] in _COMMANDS:
        return 1
    return -1
