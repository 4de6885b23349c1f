import { describe, expect, it } from 'vitest';
import { nameFilesWith } from '../../src/isolation/names.decide.ts';

const PASSWD =
  'root:x:0:0:root:/root:/bin/bash\nme:x:1000:1000::/home/me:/bin/sh\nrunledger:x:999:999::/:/bin/false\n';
const GROUP = 'root:x:0:\nvideo:x:44:me\nme:x:1000:\n';

describe('the names that a program finds', () => {
  it('have its user first, under its number and no other name, and those of the machine', () => {
    const files = nameFilesWith({ uid: 1000, gid: 1000, home: '/var/lib/run-1' }, (file) =>
      file === '/etc/passwd' ? PASSWD : GROUP,
    );
    expect(Object.fromEntries(files)).toEqual({
      '/etc/passwd':
        'runledger:x:1000:1000:Runledger:/var/lib/run-1:/bin/sh\nroot:x:0:0:root:/root:/bin/bash\n',
      '/etc/group': 'runledger:x:1000:\nroot:x:0:\nvideo:x:44:me\n',
    });
  });

  it('have its user where the machine has no such files', () => {
    const files = nameFilesWith({ uid: 5, gid: 6, home: '/' }, () => '');
    expect(files.get('/etc/passwd')).toBe('runledger:x:5:6:Runledger:/:/bin/sh\n');
  });
});
