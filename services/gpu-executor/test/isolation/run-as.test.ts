import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getuid } from 'node:process';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, onTestFinished } from 'vitest';
import { oneUser, openUsers, type User } from '../../src/isolation/users.ts';
import { startExecutor } from '../fixtures/real-executor.ts';
import { processesOfRuns } from '../fixtures/marked-processes.ts';
import { isolationNamed, ISOLATION_NAMES } from '../fixtures/isolations.ts';
import { openPrograms, temporaryFolder } from '../runners/program/run-a-program.ts';

const USER: User = { uid: 65_534, gid: 65_533 };
const isRoot = getuid?.() === 0;
const canRefuse = process.arch === 'x64' && typeof (await isolationNamed('bubblewrap')) !== 'string';

describe.skipIf(!isRoot).each(ISOLATION_NAMES)('a program of another user: %s', (name) => {
  it('has no other groups, gets its inputs, and gives its outputs', async ({ skip }) => {
    const isolation = await isolationNamed(name, oneUser(USER));
    if (typeof isolation === 'string') return skip(isolation);
    const start = await openPrograms({ isolation });
    const script = `umask 077; id -u; id -g; id -G; grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs):' /proc/self/status | grep -vE '0{16}$|1$'
      mkdir "$RUNLEDGER_OUTPUT_DIR/closed"; cat "$RUNLEDGER_INPUT_DIR/a" >"$RUNLEDGER_OUTPUT_DIR/closed/copy"
      echo x >"$RUNLEDGER_INPUT_DIR/mine"; touch "$HOME/file" && chmod 000 "$RUNLEDGER_OUTPUT_DIR/closed"`;
    const { result, lines, placeFolder } = start(script, { inputFiles: { a: 'an input' } });
    const ended = await result;
    expect(lines.map(({ line }) => line)).toEqual([String(USER.uid), String(USER.gid), String(USER.gid)]);
    expect(ended).toMatchObject({ outcome: 'succeeded', files: [{ filename: 'copy' }] });
    expect(ended.outcome === 'succeeded' && readFileSync(ended.files[0]?.path ?? '', 'utf8')).toBe(
      'an input',
    );
    await waitFor(
      'only the empty place is left',
      () => readdirSync(placeFolder, { recursive: true }).length <= 1,
    );
  });

  it('ends with all that it started when it is cancelled', async ({ skip }) => {
    const isolation = await isolationNamed(name, oneUser(USER));
    if (typeof isolation === 'string') return skip(isolation);
    const start = await openPrograms({ isolation, graceMs: 100 });
    const { result, lines, cancel, workFolder } = start(
      `trap '' TERM; setsid sleep 600 & (sleep 600 &) ; echo started; while :; do sleep 1; done`,
    );
    await waitFor('the program has started', () => lines.length > 0);
    expect((await processesOfRuns(workFolder)).length).toBeGreaterThan(2);
    cancel();
    expect(await result).toMatchObject({ outcome: 'cancelled' });
    expect(await processesOfRuns(workFolder)).toEqual([]);
  });
});

describe('an executor with EXECUTOR_RUN_AS', () => {
  it.runIf(isRoot)('takes the name of a user, or numbers', async () => {
    expect((await openUsers('nobody')).acquire()).toEqual((await openUsers('65534:65534')).acquire());
  });

  it.each([
    ['nobody-of-this-machine', /is no user of this machine/],
    ['root', /is root, or no user/],
    ['0:1000', /is root, or no user/],
    ['4294967295:1000', /is root, or no user/],
  ])('does not start for %s', async (user, said) => {
    await expect(openUsers(user)).rejects.toThrow(said);
  });

  it.each([
    [
      'an unknown user',
      'nobody-of-this-machine',
      null,
      /EXECUTOR_RUN_AS = \\?"nobody-of-this-machine\\?" is no user/,
    ],
    ['no right to be another user', '65534:65534', 1000, /has not the capabilities CHOWN, .*SETUID/],
  ])('ends with exit code 78 for %s', async (_, user, uid, said) => {
    const executor = startExecutor({ EXECUTOR_RUN_AS: user }, { uid: isRoot ? uid : null });
    expect(await executor.exit()).toBe(78);
    expect(executor.output()).toMatch(said);
  });

  it.runIf(isRoot)('says at its start what its programs cannot use, and what they would miss', async () => {
    const folder = temporaryFolder();
    const [data, file, run] = [join(folder, 'data'), join(folder, 'file'), join(folder, 'run')];
    mkdirSync(data, { mode: 0o700 });
    for (const path of [file, run]) writeFileSync(path, '#!/bin/sh\n', { mode: 0o700 });
    const programs = {
      closed: { command: run, readable: [data, file] },
      missing: { command: '/bin/sh', readable: ['/no/models'] },
    };
    const executor = startExecutor({
      EXECUTOR_RUN_AS: '65534:65533',
      EXECUTOR_PROGRAMS: JSON.stringify(programs),
    });
    await executor.said('/no/models, which its entry names as readable, does not exist: make or mount it');
    const user = 'the user 65534:65533 of programs';
    await executor.said(`${user} cannot start ${run}: chmod o+rx ${run}`);
    await executor.said(`${user} cannot look into ${data}: chmod o+rx ${data}`);
    await executor.said(`${user} cannot read`);
    expect(executor.output()).toContain(`${user} cannot read ${file}: chmod o+r ${file}`);
  });

  it.runIf(isRoot && canRefuse)(
    'says at its start which folder is closed to its programs, where nothing can be mounted for them',
    async () => {
      const closed = mkdtempSync(join(tmpdir(), 'closed-'));
      onTestFinished(() => rmSync(closed, { recursive: true }));
      const command = join(closed, 'run');
      writeFileSync(command, '#!/bin/sh\n', { mode: 0o755 });
      const executor = startExecutor(
        { EXECUTOR_RUN_AS: '65534:65533', EXECUTOR_PROGRAMS: JSON.stringify({ closed: [command] }) },
        { refused: 'namespaces' },
      );
      await executor.said(`cannot get to ${command}`);
      expect(executor.output()).toContain(`because ${closed} is closed to it: chmod o+x ${closed}`);
    },
  );

  it.runIf(isRoot)('ends with exit code 78 as root that can be nobody else', async () => {
    const before = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--'];
    const executor = startExecutor({}, { before });
    expect(await executor.exit()).toBe(78);
    expect(executor.output()).toMatch(/EXECUTOR_RUN_AS is not set, and programs would be root: .*SETUID/);
  });

  it.runIf(isRoot && canRefuse)(
    'ends with exit code 78 where programs cannot reach its work folder, and nothing can be mounted for them',
    async () => {
      const closed = mkdtempSync(join(tmpdir(), 'closed-'));
      onTestFinished(() => rmSync(closed, { recursive: true }));
      const executor = startExecutor({ EXECUTOR_WORK_DIR: join(closed, 'work') }, { refused: 'namespaces' });
      expect(await executor.exit()).toBe(78);
      expect(executor.output()).toMatch(/EXECUTOR_WORK_DIR = .* cannot be reached by programs.*closed-/);
    },
  );
});
