/** What programs find under the number of their user. `USER` in their environment says the same. */
export const USER_NAME = 'runledger';

/** A user that programs find by its name, and by its number. */
export interface NamedUser {
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** The files in which the system looks names up, as they are with this user. `contentOf` is what the machine has in them. */
export const nameFilesWith = (
  { uid, gid, home }: NamedUser,
  contentOf: (file: string) => string,
): ReadonlyMap<string, string> =>
  new Map([
    [PASSWD, withLine(contentOf(PASSWD), uid, `${USER_NAME}:x:${uid}:${gid}:Runledger:${home}:/bin/sh`)],
    [GROUP, withLine(contentOf(GROUP), gid, `${USER_NAME}:x:${gid}:`)],
  ]);

const [PASSWD, GROUP] = ['/etc/passwd', '/etc/group'];

/** Before the others, without what they call this number, or by this name. */
const withLine = (content: string, id: number, line: string): string => {
  const others = content.split('\n').filter((other) => {
    const [name = '', , number] = other.split(':');
    return name !== '' && name !== USER_NAME && number !== String(id);
  });
  return [line, ...others, ''].join('\n');
};
