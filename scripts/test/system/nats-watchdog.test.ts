import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { watchedNatsCluster, type TestNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { watchedNats, type WatchedNats } from '@runledger/testing/servers/watched-nats';
import { commandsIn } from '@runledger/testing/stand-ins/image-commands';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../deploy/workspaces.ts';

const SCRIPT = join(ROOT, 'deploy/nats/nats-watchdog.sh');
/** Three seconds without an answer are enough. */
const FROZEN_MS = 6_000;
/** It waits for thirty answers, one a second. */
const WATCHED = { withinMs: 120_000 };
const KILLED = { withinMs: 15_000 };

let folder: Awaited<ReturnType<typeof mkdtempDisposable>>;
let path: string;
let single: WatchedNats;
let cluster: TestNatsCluster<WatchedNats>;

beforeAll(async () => {
  folder = await mkdtempDisposable(join(tmpdir(), 'runledger-nats-watchdog-'));
  path = await commandsIn(join(folder.path, 'bin'), process.env['PATH']);
  // First, so that it is asked as often as the others.
  single = await watchedNats({ serverName: 'single', path });
  cluster = await watchedNatsCluster({ path });
  await waitFor('all to be watched', () => cluster.servers.every(({ isWatched }) => isWatched()), WATCHED);
}, 180_000);

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await single[Symbol.asyncDispose]();
  await folder.remove();
});

const serverAt = (n: number): WatchedNats => {
  const server = cluster.servers[n];
  if (!server) throw new Error(`There is no server ${n}.`);
  return server;
};

/** The processes of a group that are left. */
const processesOf = (group: number): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
        const [state, , groupOf] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
        return groupOf === String(group) && state !== 'Z';
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });

const hasStarted = async (server: WatchedNats, before: number): Promise<boolean> =>
  (await server.natsServerPid()) !== before && (await server.accepts());

const killed = {
  exit: { code: 137, signal: null },
  said: expect.arrayContaining([expect.stringContaining('It is killed')]),
};

describe('the watchdog of a nats-server that is one of several', () => {
  it('kills one that hangs, and it is started again', async () => {
    const hung = serverAt(0);
    const before = await hung.natsServerPid();
    process.kill(before, 'SIGSTOP');
    await waitFor('it to be killed', () => hung.endings.length === 1, KILLED);
    expect(hung.endings).toEqual([killed]);
    await waitFor('it to be started again', () => hasStarted(hung, before), { withinMs: 30_000 });
  });

  it('kills one that was frozen together with the watchdog when both go on', async () => {
    const frozen = serverAt(1);
    const before = await frozen.natsServerPid();
    await frozen.pause();
    await pause(FROZEN_MS);
    expect(frozen.endings).toEqual([]);
    frozen.resume();
    await waitFor('it to be killed', () => frozen.endings.length === 1, KILLED);
    expect(frozen.endings).toEqual([killed]);
    await waitFor('it to be started again', () => hasStarted(frozen, before), { withinMs: 30_000 });
  });

  it('leaves one alone that responds, also when it has no majority', { timeout: 150_000 }, async () => {
    const alone = serverAt(2);
    const before = await alone.natsServerPid();
    const others = [serverAt(0), serverAt(1)];
    await Promise.all(others.map((other) => other.kill9()));
    await waitFor('it to be unavailable', async () => !(await alone.isWell()), { withinMs: 60_000 });
    await pause(FROZEN_MS);
    expect(await alone.natsServerPid()).toBe(before);
    expect(alone.endings).toEqual([]);
    await Promise.all(others.map((other) => other.restart()));
    await waitFor('it to be well again', () => alone.isWell(), { withinMs: 60_000 });
  });

  it('passes signals on, stops in order with SIGTERM and leaves no process', async () => {
    const server = serverAt(2);
    const group = server.pid();
    process.kill(group, 'SIGHUP');
    await waitFor('a reload', () => server.output().includes('Reloaded'));
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    await waitFor('all processes to end', () => processesOf(group).length === 0);
    expect(server.output()).toContain('Server Exiting..');
  });

  it('stops nats-server when it is killed itself', async () => {
    const server = serverAt(2);
    await server.restart();
    const group = server.pid();
    process.kill(group, 'SIGKILL');
    await waitFor('all processes to end', () => processesOf(group).length === 0, { withinMs: 30_000 });
  });
});

describe('the watchdog of a nats-server that is alone', () => {
  it('never kills it', async () => {
    const before = await single.natsServerPid();
    await single.pause();
    await pause(FROZEN_MS);
    single.resume();
    await waitFor('it to respond', () => single.isWell());
    expect(await single.natsServerPid()).toBe(before);
    expect(single.endings).toEqual([]);
    expect(single.isWatched()).toBe(false);
  });
});

describe('nats-watchdog.sh', () => {
  const run = (args: readonly string[], PATH = path) => {
    const { status, stderr } = spawnSync('/bin/sh', [SCRIPT, ...args], { encoding: 'utf8', env: { PATH } });
    return { status, stderr: stderr.trim() };
  };

  it('says what is wrong with its arguments, and what is missing', () => {
    expect(run([])).toEqual({ status: 2, stderr: expect.stringContaining("'' is no port. Usage:") });
    expect(run(['nats-server'])).toEqual({ status: 2, stderr: expect.stringContaining('is no port') });
    expect(run(['8222'])).toEqual({ status: 2, stderr: expect.stringContaining('Usage:') });
    expect(run(['8222', 'nats-server'], folder.path)).toEqual({
      status: 2,
      stderr: expect.stringContaining("The command 'timeout' is not there."),
    });
  });

  it('ends as its command ends', () => {
    expect(run(['8222', 'sh', '-c', 'exit 3'])).toEqual({ status: 3, stderr: '' });
  });
});
