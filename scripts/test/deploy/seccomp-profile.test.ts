import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readCompose, servicesOf } from './read-compose.ts';
import { allowNamespaces } from '../../deploy/seccomp-profile.ts';
import { members } from './workspaces.ts';

const DEFAULT = {
  defaultAction: 'SCMP_ACT_ERRNO',
  archMap: [{ architecture: 'SCMP_ARCH_X86_64' }],
  syscalls: [
    { names: ['read', 'write'], action: 'SCMP_ACT_ALLOW' },
    { names: ['mount', 'bpf'], action: 'SCMP_ACT_ALLOW', includes: { caps: ['CAP_SYS_ADMIN'] } },
  ],
};

describe('the profile for system calls', () => {
  it('is the default one, and allows what makes namespaces', () => {
    expect(parse(allowNamespaces(JSON.stringify(DEFAULT)))).toEqual({
      ...DEFAULT,
      syscalls: [
        ...DEFAULT.syscalls,
        {
          names: ['clone', 'mount', 'pivot_root', 'setns', 'umount2', 'unshare'],
          action: 'SCMP_ACT_ALLOW',
        },
      ],
    });
  });

  it.each(['', '[]', '{}', JSON.stringify({ ...DEFAULT, defaultAction: 'SCMP_ACT_ALLOW' })])(
    'is made of no other profile: %s',
    (text) => {
      expect(() => allowNamespaces(text)).toThrow('profiles/seccomp/default.json');
    },
  );

  it('is that of the executor alone, which keeps what hardens it', () => {
    const services = servicesOf(readCompose('docker-compose.isolation.yml'));
    expect([...services.keys()]).toEqual(['gpu-executor']);
    expect(members(services.get('gpu-executor'))).toEqual({
      user: '1000:1000',
      cap_add: [],
      environment: {
        EXECUTOR_ISOLATION: 'required',
        EXECUTOR_RUN_AS: null,
        EXECUTOR_WORK_DIR: '/var/lib/runledger/work',
      },
      volumes: ['executor:/var/lib/runledger'],
      security_opt: ['seccomp:deploy/docker/seccomp.json', 'systempaths=unconfined'],
    });
  });
});
