import { describe, expect, it } from 'vitest';
import { noIsolation } from '../../src/isolation/choose-isolation.ts';
import { ownUser } from '../../src/isolation/users.ts';
import { processGroup, type Isolation } from '../../src/isolation/isolation.ts';
import {
  describeNetwork,
  networkHold,
  networkInEffect,
  refuseUnheld,
} from '../../src/network/network-hold.ts';
import { programRunnerType } from '../../src/runners/program/program-runner-type.ts';
import { startExecutor } from '../fixtures/real-executor.ts';
import { readServerEntry } from '../../src/runners/model-server/model-server.ts';

const WHY = 'chosen by the test';
const bubblewrap: Isolation = {
  kind: 'bubblewrap',
  command: '/usr/bin/bwrap',
  hidden: [],
  users: ownUser,
  unfiltered: null,
};
const landlock = (version: number): Isolation => ({
  kind: 'landlock',
  version,
  hidden: [],
  containment: processGroup(WHY),
  why: WHY,
  users: ownUser,
  unfiltered: null,
});

describe('the network of programs', () => {
  it.each([
    ['namespace', 'outgoing', bubblewrap, /^programs have a network of their own/],
    [
      'landlock',
      'outgoing',
      landlock(4),
      /^programs bind no port, .*share the network of the machine.*their proxy only; bubblewrap/,
    ],
    ['none', 'host', landlock(3), /^programs have the network of the machine/],
    ['none', 'host', noIsolation(WHY), /^programs have the network of the machine/],
  ] as const)('is held by %s, and %s in effect', (hold, outgoing, isolation, said) => {
    expect(networkHold(isolation)).toBe(hold);
    expect(networkInEffect(isolation, 'outgoing')).toBe(outgoing);
    expect(networkInEffect(isolation, 'host')).toBe('host');
    expect(describeNetwork(isolation)).toMatch(said);
  });

  it('is not left to chance where an entry says what nothing holds', () => {
    const programs = (['host', 'none', 'outgoing', undefined] as const).map((network) => ({
      name: `the ${network} one`,
      command: network === undefined ? {} : { network },
    }));
    for (const isolation of [bubblewrap, landlock(4)]) refuseUnheld(isolation, programs);
    for (const isolation of [landlock(3), noIsolation(WHY)])
      expect(() => refuseUnheld(isolation, programs)).toThrow(
        /^(?!.*(?:host|undefined) one).*the none one, whose network is "none", which nothing holds on this machine.*the outgoing one/s,
      );
  });

  it('is read from the entries of programs, of both kinds, that say one', async () => {
    const [once, resident] = [{ command: process.execPath }, { command: process.execPath, mode: 'resident' }];
    const programs = {
      silent: once,
      sealed: { ...once, network: 'none' },
      kept: { ...resident, network: 'host' },
    };
    const configured = await programRunnerType.configure(
      { EXECUTOR_PROGRAMS: JSON.stringify(programs) },
      { PATH: '', slots: [] },
    );
    const entries = 'entries' in configured ? configured.entries : [];
    expect(entries.map(({ name, command: { network } }) => [name, network])).toEqual([
      ['the program "silent"', undefined],
      ['the program "sealed"', 'none'],
      ['the program "kept"', 'host'],
    ]);
  });

  it('ends an executor that cannot hold it', async () => {
    const programs = { sealed: { command: process.execPath, network: 'none' } };
    const executor = startExecutor({
      EXECUTOR_ISOLATION: 'off',
      EXECUTOR_PROGRAMS: JSON.stringify(programs),
    });
    expect(await executor.exit()).toBe(78);
    expect(executor.output()).toMatch(/"sealed\\*", whose network is \\*"none\\*", which nothing holds/);
  });

  it('is that of the machine for a model server, which cannot have another one', async () => {
    const entry = { url: 'http://127.0.0.1:5000', command: process.execPath };
    for (const network of ['none', 'outgoing'])
      expect(await readServerEntry({ ...entry, network }, '')).toMatch(/^whose network can only be host/);
    expect(await readServerEntry({ ...entry, network: 'host' }, '')).toMatchObject({
      command: { network: 'host' },
    });
  });
});
