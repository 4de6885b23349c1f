import { readFileSync } from 'node:fs';
import { getegid, geteuid } from 'node:process';
import type { User } from './users.ts';

/** What programs find under the number of their user. `USER` in their environment says the same. */
export const USER_NAME = 'runledger';

/** A user that programs find by its name, and by its number. */
export interface NamedUser extends User {
  readonly home: string;
}

/** Null for root, which has a name. `user`: null for that of the executor. */
export const namedUser = (user: User | null, home: string): NamedUser | null => {
  const { uid, gid } = user ?? { uid: geteuid?.() ?? 0, gid: getegid?.() ?? 0 };
  return uid === 0 ? null : { uid, gid, home };
};

/** The files in which the system looks names up, as they are with this user. */
export const nameFiles = ({ uid, gid, home }: NamedUser): ReadonlyMap<string, string> =>
  new Map([
    [PASSWD, withLine(PASSWD, uid, `${USER_NAME}:x:${uid}:${gid}:Runledger:${home}:/bin/sh`)],
    [GROUP, withLine(GROUP, gid, `${USER_NAME}:x:${gid}:`)],
  ]);

const [PASSWD, GROUP] = ['/etc/passwd', '/etc/group'];

/** Before those of the machine, without what they call this number, or by this name. */
const withLine = (file: string, id: number, line: string): string => {
  const others = contentOf(file)
    .split('\n')
    .filter((other) => {
      const [name = '', , number] = other.split(':');
      return name !== '' && name !== USER_NAME && number !== String(id);
    });
  return [line, ...others, ''].join('\n');
};

/** An image may have none. */
const contentOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};
