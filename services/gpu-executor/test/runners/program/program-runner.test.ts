import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { findPython } from '@runledger/local-servers/python';
import { isInNamespace } from '../../../src/isolation/isolation.ts';
import { networkHold } from '../../../src/network/network-hold.ts';
import { proxyEnvironment } from '../../../src/supervision/proxy-listener.ts';
import { halfOf, isolations } from '../../fixtures/isolations.ts';
import { run, start, temporaryFolder } from './run-a-program.ts';

const python = await findPython(process.env, { oldest: [3, 9], newest: [3, 14] });

/** What is special about programs; the contract of every runner is in `../runner-conformance.ts`. */
describe.each(isolations)('a program %s', (_, isolation) => {
  it('sees its device and a small environment, and nothing of the executor', async () => {
    vi.stubEnv('NATS_PASSWORD', 'hunter2');
    const script = 'env >"$RUNLEDGER_OUTPUT_DIR/env"; ls -l /proc/self/fd >"$RUNLEDGER_OUTPUT_DIR/fds"';
    const program = { command: '/bin/sh', args: ['-c', script], env: { MODEL_HOME: '/models' } };
    const { result, outputDir } = await start('', { isolation, program, device: 'GPU-6d40' });
    await result;
    vi.unstubAllEnvs();
    const env = readFileSync(join(outputDir, 'env'), 'utf8');
    expect(env).toContain('CUDA_VISIBLE_DEVICES=GPU-6d40\n');
    expect(env).toContain('MODEL_HOME=/models\n');
    expect(env).toContain('TZ=Asia/Tokyo\n');
    expect(env).toContain('OMP_NUM_THREADS=3\n');
    const names = env.split('\n').map((line) => line.split('=')[0]);
    expect(
      new Set(names.filter((name) => !['', '_', 'SHLVL', 'OLDPWD', 'PWD'].includes(name ?? ''))),
    ).toEqual(
      new Set([
        'CUDA_DEVICE_ORDER',
        'CUDA_VISIBLE_DEVICES',
        'HOME',
        'LANG',
        'LOGNAME',
        'MODEL_HOME',
        'OMP_NUM_THREADS',
        'PATH',
        'PYTHONUNBUFFERED',
        'RUNLEDGER_ATTEMPT',
        'RUNLEDGER_EXECUTOR_MARK',
        'RUNLEDGER_INPUT_DIR',
        'RUNLEDGER_OUTPUT_DIR',
        'RUNLEDGER_RUN_ID',
        'TMPDIR',
        'TZ',
        'USER',
        ...(networkHold(isolation) === 'none' ? [] : Object.keys(proxyEnvironment(1))),
      ]),
    );
    // Its own three, and not the supervisor's pipe to the executor.
    expect(readFileSync(join(outputDir, 'fds'), 'utf8').match(/socket:/g)).toHaveLength(2);
    expect(readFileSync(join(outputDir, 'fds'), 'utf8')).not.toMatch(/\b3 -> socket:/);
  });

  it('has a name, also by the number of its user where something can be mounted for it', async ({ skip }) => {
    const script = `echo "$USER $LOGNAME"; whoami; test "$HOME" != / && id -gn && getent passwd "$(id -u)" | cut -d: -f1,6`;
    const program = { command: '/bin/sh', args: ['-c', script] };
    if (isolation.kind === 'off' || !isInNamespace(isolation)) return skip('nothing is mounted for it there');
    const { result, lines } = await start('', { isolation, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    const [variables, name, group, entry] = lines.map(({ line }) => line);
    expect([variables, name, group]).toEqual(['runledger runledger', 'runledger', 'runledger']);
    expect(entry).toMatch(/^runledger:\/.*\/tmp-/);
  });

  it("sees the folders of its driver's libraries, behind those of its entry", async () => {
    const libraries = temporaryFolder();
    writeFileSync(join(libraries, 'libcuda.so.1'), 'the driver');
    const script = '[ "${LD_LIBRARY_PATH%%:*}" = /usr/lib ] && cat "${LD_LIBRARY_PATH#*:}/libcuda.so.1"';
    const program = { command: '/bin/sh', args: ['-c', script], env: { LD_LIBRARY_PATH: '/usr/lib' } };
    const { result, lines } = await start('', { isolation, program, libraries: [libraries] });
    await result;
    expect(lines.map(({ line }) => line)).toEqual(['the driver']);
  });

  it('may share memory between its processes, as shm_open and sem_open do, and see what a link in its entry leads to', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'models'));
    writeFileSync(join(folder, 'models', 'weights'), 'weights');
    symlinkSync(join(folder, 'models'), join(folder, 'link'));
    const script = `set -e; echo shared >"/dev/shm/runledger-test-$RUNLEDGER_RUN_ID-$$"
      cat "/dev/shm/runledger-test-$RUNLEDGER_RUN_ID-$$"; truncate -s 1M "/dev/shm/runledger-test-$RUNLEDGER_RUN_ID-$$"
      ln "/dev/shm/runledger-test-$RUNLEDGER_RUN_ID-$$" "/dev/shm/sem.$RUNLEDGER_RUN_ID-$$"
      rm "/dev/shm/runledger-test-$RUNLEDGER_RUN_ID-$$" "/dev/shm/sem.$RUNLEDGER_RUN_ID-$$"
      cat '${folder}/link/weights'`;
    const program = { command: '/bin/sh', args: ['-c', script], readable: [join(folder, 'link')] };
    const { result, lines } = await start('', { isolation, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual(['shared', 'weights']);
  });

  it('begins in the folder of its entry', async () => {
    const cwd = temporaryFolder();
    const program = { command: '/bin/sh', args: ['-c', 'pwd >"$RUNLEDGER_OUTPUT_DIR/pwd"'], cwd };
    const { result, outputDir } = await start('', { isolation, program });
    await result;
    expect(readFileSync(join(outputDir, 'pwd'), 'utf8')).toBe(`${cwd}\n`);
  });

  it('has a temporary folder of its own, which is removed afterwards', async () => {
    const script = 'touch "$TMPDIR/scratch"; touch relative';
    const { result, workFolder, placeFolder } = await start(script, { isolation });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    // Nor is there an output folder without outputs.
    expect(readdirSync(workFolder)).toEqual([]);
    const left = readdirSync(placeFolder, { recursive: true });
    expect(left).toEqual([expect.stringMatching(/^tmp-[^/]+$/)]);
  });

  it('shows no folder of the executor and no value that its operator gave to the program', async () => {
    const script = 'echo "cannot open $RUNLEDGER_OUTPUT_DIR/a with $TOKEN in $TMPDIR" >&2; exit 1';
    const program = { command: '/bin/sh', args: ['-c', script], env: { TOKEN: 'hunter2-hunter2' } };
    expect(await run('', { isolation, program })).toMatchObject({
      error: {
        message: expect.stringMatching(/\ncannot open \$RUNLEDGER_OUTPUT_DIR\/a with \$TOKEN in \$TMPDIR$/),
      },
    });
  });

  it('fails with the signal that ended it', async () => {
    expect(await run('kill -9 $$', { isolation })).toMatchObject({
      outcome: 'failed',
      error: { kind: 'program_signal', signal: 'SIGKILL' },
    });
  });

  it('ends with its first process, also when children hold its output open', async () => {
    const { result, outputDir } = await start(
      'sleep 600 & echo $! >"$RUNLEDGER_OUTPUT_DIR/child"; echo "{\\"output\\":{\\"text\\":\\"done\\"}}"',
      { isolation },
    );
    expect(await result).toMatchObject({ outcome: 'succeeded', data: { text: ['done'] } });
    expect(existsSync(join(outputDir, 'child'))).toBe(true);
  });

  it('may close all its pipes and continue', async () => {
    const script = 'exec <&- >&- 2>&-; sleep 0.2; touch "$RUNLEDGER_OUTPUT_DIR/done"';
    expect(await run(script, { isolation })).toMatchObject({
      outcome: 'succeeded',
      files: [{ filename: 'done' }],
    });
  });

  it('that cannot be executed is not runnable, with the reason', async () => {
    const folder = temporaryFolder();
    const plain = join(folder, 'plain');
    writeFileSync(plain, 'no program');
    const broken = join(folder, 'broken');
    writeFileSync(broken, '#!/no/such/interpreter\n');
    chmodSync(broken, 0o755);
    const why = async (command: string): Promise<unknown> => run('', { isolation, program: { command } });
    expect(await why(join(folder, 'absent'))).toMatchObject({
      outcome: 'not_runnable',
      why: expect.stringContaining('ENOENT'),
    });
    expect(await why(plain)).toMatchObject({
      outcome: 'not_runnable',
      why: expect.stringContaining('EACCES'),
    });
    expect(await why(broken)).toMatchObject({
      outcome: 'not_runnable',
      why: `The program script cannot be started: ENOENT: ${broken} exists, and its interpreter /no/such/interpreter does not exist.`,
    });
  });
});

/** The same in every isolation. */
describe.each(halfOf(isolations, 0))('also %s, a program', (_, isolation) => {
  it('gets the run as one JSON object on standard input, and then its end', async () => {
    const { result, outputDir } = await start('cat >"$RUNLEDGER_OUTPUT_DIR/stdin.json"', { isolation });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(JSON.parse(readFileSync(join(outputDir, 'stdin.json'), 'utf8'))).toEqual({
      run_id: '01920000-0000-7000-8000-00000000000b',
      workflow: { kind: 'test' },
      inputs: { size: 512 },
      gpu: 'A10G',
      attempt: 2,
    });
  });

  it('may continue the trace of its run', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const script = 'printf %s "$TRACEPARENT" >"$RUNLEDGER_OUTPUT_DIR/trace"';
    const { result, outputDir } = await start(script, { isolation, traceparent });
    await result;
    expect(readFileSync(join(outputDir, 'trace'), 'utf8')).toBe(traceparent);
  });

  it('has progress by a bar that is drawn over itself, until it reports its own', async () => {
    const bar = (percent: number): string =>
      `printf '\\rSampling: %d%%|##| %d/20 [00:01]' ${percent} ${percent / 5}`;
    const script = `${bar(5)}; ${bar(50)}; echo '{"progress": 0.6}'; ${bar(90)}; echo; echo 'step 1/2'; sleep 600`;
    const started = await start(script, { isolation });
    await vi.waitUntil(() => started.lines.length > 2, { timeout: 20_000 });
    started.cancel();
    expect(await started.result).toMatchObject({ outcome: 'cancelled' });
    expect(started.reports.at(-1)).toEqual({ progress: 0.6, live_status: 'Sampling 10/20' });
    expect(started.reports).toContainEqual({ progress: 0.5, live_status: 'Sampling 10/20' });
    expect(started.lines.map(({ line }) => line)).toEqual([
      'Sampling: 50%|##| 10/20 [00:01]',
      'Sampling: 90%|##| 18/20 [00:01]',
      'step 1/2',
    ]);
  });

  it('fails with its exit code and the end of standard error', async () => {
    expect(await run('echo "size is too large" >&2; exit 3', { isolation })).toMatchObject({
      outcome: 'failed',
      error: {
        kind: 'program_exit',
        message: 'The program script ended with exit code 3.\nsize is too large',
        exit_code: 3,
        retryable: true,
      },
    });
  });

  it('fails when an output cannot be understood', async () => {
    const script = `echo '{"output": {"text": "$TOKEN "quoted""}}' | sed "s/.TOKEN/$TOKEN/"`;
    const program = { command: '/bin/sh', args: ['-c', script], env: { TOKEN: 'hunter2-hunter2' } };
    expect(await run('', { isolation, program })).toMatchObject({
      error: {
        kind: 'invalid_output',
        retryable: false,
        message: expect.stringMatching(
          /json\.dumps.* It wrote: \{"output": \{"text": "\$TOKEN "quoted""\}\}$/,
        ),
      },
    });
  });

  it('distinguishes exit code 137 from being killed', async () => {
    expect(await run('exit 137', { isolation })).toMatchObject({
      error: { kind: 'program_exit', exit_code: 137 },
    });
  });

  it('may end in the middle of a JSON line', async () => {
    expect(await run(`printf '{"progress": 0.'`, { isolation })).toMatchObject({ outcome: 'succeeded' });
  });
});

describe.skipIf(python === undefined)('a program in Python', () => {
  it('shows what it prints at once, so a cancel keeps it', async () => {
    const code = 'import time; print("before", end=" "); print("the cancel"); time.sleep(600)';
    // It may be installed where only this user can read.
    const { result, lines, cancel } = await start('', {
      program: { command: python?.path ?? '', args: ['-c', code] },
    });
    await vi.waitUntil(() => lines.length > 0, { timeout: 20_000 });
    cancel();
    expect(await result).toMatchObject({ outcome: 'cancelled', forced: false });
    expect(lines).toEqual([{ stream: 'stdout', line: 'before the cancel' }]);
  });
});
