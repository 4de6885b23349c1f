import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname } from 'node:path';
import type { Withheld } from '../../isolation/isolation.ts';
import { INSTALLATION } from '../../isolation/supervisor-code.ts';
import { isWithin, realPath } from '../../paths/real-paths.ts';

/** Why what a command or an argument leads to is not shown, as the end of a sentence; null when it may be. The path is real. */
export const whyWithheld = (path: string, { own }: Pick<Withheld, 'own'>): string | null => {
  if (isOfAll(path)) return 'it is a folder of the machine, or a home';
  const isOwn = own.some((each) => isWithin([each], path) || isWithin([path], each));
  return isOwn || isWithin([path], INSTALLATION) ? 'it is, holds or is in a folder of the executor' : null;
};

/** The same for a folder that nobody has named, and that is shown for what is in it. */
export const whyFolderWithheld = (path: string, withheld: Withheld): string | null => {
  if (isBroad(path)) return 'it holds more than a program';
  const isWritten = withheld.written.some((each) => isWithin([each], path) || isWithin([path], each));
  return isWritten ? 'it is, holds or is in a folder that programs write' : whyWithheld(path, withheld);
};

/** Those that every Linux has. */
const OF_ALL = new Set(
  '/ /bin /boot /dev /dev/shm /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /var /var/tmp'.split(
    ' ',
  ),
);
/** In these nothing is of one program alone. */
const NEVER = ['/dev', '/etc', '/proc', '/run', '/sys'];
/** What is in one of these has one owner, or is a disk. */
const WITH_OWNERS = new Set(['/home', '/media', '/mnt', '/var']);
/** Of a home, where programs keep what they know of its owner. */
const PERSONAL = new Set(['.cache', '.config', '.local']);
const FIRST_PERSON = 1000;
const NOBODY = 65_534;

/** Of people: a service may live where its program is. */
const homes: ReadonlySet<string> = new Set([
  '/root',
  homedir(),
  ...readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([, , uid = '0']) => Number(uid) >= FIRST_PERSON && Number(uid) < NOBODY)
    .map(([, , , , , home = '']) => realPath(home) ?? home),
]);

const isHome = (path: string): boolean => homes.has(path) || dirname(path) === '/home';

const isOfAll = (path: string): boolean =>
  OF_ALL.has(path) || isWithin(['/proc', '/sys'], path) || isHome(path);

const isBroad = (path: string): boolean =>
  isWithin(NEVER, path) ||
  WITH_OWNERS.has(dirname(path)) ||
  (PERSONAL.has(basename(path)) && isHome(dirname(path))) ||
  (basename(dirname(path)) === '.local' && isHome(dirname(dirname(path))) && basename(path) !== 'bin');
