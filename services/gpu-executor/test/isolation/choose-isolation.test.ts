import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { chooseIsolation } from '../../src/isolation/choose-isolation.ts';
import { describeIsolation } from '../../src/isolation/isolation.ts';
import { ownUser } from '../../src/isolation/users.ts';
import { startExecutor } from '../fixtures/real-executor.ts';
import { isolationNamed } from '../fixtures/isolations.ts';

const PATH = process.env['PATH'] ?? '';
const WANTED = { isWanted: true, path: PATH, hidden: [], users: ownUser };
const nowhere = [async () => 'bwrap is not on PATH', async () => 'the kernel has no Landlock'];
/** Only root, or whoever may make namespaces, can hold an executor in a filter; it is written for one architecture. */
const canRefuse = process.arch === 'x64' && typeof (await isolationNamed('bubblewrap')) !== 'string';
const hasLandlock = typeof (await isolationNamed('landlock')) !== 'string';

/** A `bwrap` as on a machine that lets nobody make namespaces. */
const folderWithRefusedBwrap = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'bwrap-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const script = '#!/bin/sh\necho "bwrap: No permissions to create a new namespace" >&2\nexit 1\n';
  writeFileSync(join(folder, 'bwrap'), script, { mode: 0o755 });
  return folder;
};

describe('the isolation of an executor', () => {
  it.runIf(hasLandlock).each([
    [
      'there is no bwrap',
      () => '/nonexistent',
      /Landlock.*: bwrap is not on PATH \(apt-get install bubblewrap\);/,
    ],
    [
      'bwrap may make no namespaces',
      folderWithRefusedBwrap,
      /Landlock.*: bubblewrap does not work: .*No permissions/,
    ],
  ])('is Landlock, and says why, where %s', async (_, path, said) => {
    const isolation = await chooseIsolation({ isWanted: true, path: path(), hidden: [], users: ownUser });
    expect(isolation.kind).toBe('landlock');
    expect(describeIsolation(isolation)).toMatch(said);
  });

  it('is none where neither works, and says why', async () => {
    const isolation = await chooseIsolation(WANTED, nowhere);
    expect(isolation.kind).toBe('none');
    expect(describeIsolation(isolation)).toMatch(
      /^programs see what their user sees, .*: bwrap is not on PATH; the kernel has no Landlock;/,
    );
  });

  it.runIf(canRefuse)('is refused by an executor that ends with exit code 78', async () => {
    const required = { EXECUTOR_ISOLATION: 'required' };
    const executor = startExecutor(required, { refused: 'namespaces and Landlock' });
    expect(await executor.exit()).toBe(78);
    expect(executor.output()).toMatch(
      /EXECUTOR_ISOLATION = \\?"required\\?" cannot be met on this machine, where a program can .*read the secrets of the executor; .*bubblewrap does not work: .*the kernel has no Landlock.*It should be .*apt-get install bubblewrap/,
    );
  });

  it.runIf(canRefuse && hasLandlock)(
    'is weak for an ordinary executor that may make no namespaces, and it says why and what that means',
    async () => {
      const executor = startExecutor({ EXECUTOR_ISOLATION: 'auto' }, { refused: 'namespaces' });
      await executor.said('programs open the files of their run only (Landlock');
      expect(executor.output()).toMatch(/in a process group \(unshare: .*bubblewrap does not work: /);
    },
  );

  it('is none when it is off', async () => {
    expect(await chooseIsolation({ ...WANTED, isWanted: false })).toMatchObject({
      kind: 'off',
    });
  });
});
