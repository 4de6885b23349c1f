import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@runledger/contracts/json';
import { waitFor } from '@runledger/testing/wait-for';
import { beforeAll, describe, expect, it } from 'vitest';
import { startCli, type CliOptions, type StartedCli } from '../fixtures/run-cli.ts';

const SAMPLE = join(import.meta.dirname, '../../../replay/test/sample/sample.ndjson.zst');
const SETTINGS = join(import.meta.dirname, '../../../replay/test/sample/sample-settings.json');

let env: Record<string, string>;
beforeAll(async () => {
  env = JSON.parse(await readFile(SETTINGS, 'utf8'));
});

const start = (args: readonly string[], options: Omit<CliOptions, 'env'> = {}): StartedCli =>
  startCli(['replay', SAMPLE, ...args], { ...options, env });

const factsIn = (stdout: string): string[] => stdout.split('\n').filter((line) => /^20\S+Z {2}/.test(line));

describe('runledger replay', () => {
  it('prints each fact with its time, position and sentence, and each decision beside the recorded one', async () => {
    const { code, stdout, stderr } = await start([]).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(factsIn(stdout).length).toBeGreaterThan(200);
    expect(stdout).toMatch(
      /\n20\S+Z {2}RUNS \d+ {2}RunAssigned of run [0-9a-f-]{36}: attempt 1 on box-l4, slot 0 \(L4\): .*\n {2}scheduler decides the same\n/,
    );
    expect(stdout).toMatch(/FLEET \d+ {2}a scheduler begins to lead\n/);
    expect(stdout).toMatch(/RunFailed of run \S+: run_timeout\n/);
  });

  it('shows a decision that differs', async () => {
    const limits = { ...env, RUNLEDGER_ORG_LIMITS: '' };
    const { stdout } = await startCli(['replay', SAMPLE], { env: limits }).ended;
    expect(stdout).toMatch(
      /: scheduler (?:does not decide it|decides something else)\n {4}recorded {2}RunAssigned: /,
    );
  });

  it('prints JSON, one step a line', async () => {
    const { stdout } = await start(['--json']).ended;
    const steps = stdout.trim().split('\n').map(parseJson);
    expect(steps[4]).toMatchObject({ fact: { sequence: 1, event: { type: 'RunQueued' } }, decisions: [] });
    const assigned = steps.find((step) => Object(step).fact.event?.type === 'RunAssigned');
    expect(assigned).toMatchObject({ decisions: [{ kind: 'equal' }] });
  });

  it('steps from fact to fact, prints the run, and ends when it is told to', async () => {
    const stepped = await start(['--step'], { stdin: '\nn\nn\nn\np\nwhat\nq\n' }).ended;
    expect(stepped.code).toBe(0);
    expect(factsIn(stepped.stdout)).toHaveLength(5);
    expect(stepped.stdout).toMatch(
      /\nrun:\n {2}\{\n[^]*"status": "queued"[^]*\nscheduler:\n {2}\{\n[^]*"head": 1/,
    );
    expect(stepped.stderr).toContain('n or Enter: next, c: continue, p: print the run, q: quit\n');
    expect(stepped.stderr).toContain('what is none of them.\n');
  });

  it('stops at breakpoints, and plays the rest at the end of the input', async () => {
    const points = [
      '--break',
      'fact=ExecutorLost',
      '--break',
      'fact.type == "RunFailed" && fact.data.error.kind == "program_exit"',
    ];
    const quit = await start(points, { stdin: 'c\nq\n' }).ended;
    expect(quit.stderr.match(/Stopped at a breakpoint\./g)).toHaveLength(2);
    expect(factsIn(quit.stdout).at(-1)).toContain('ExecutorLost of box-l4.');
    const all = await start(points).ended;
    expect(all.code).toBe(0);
    expect(factsIn(all.stdout)).toEqual(factsIn((await start([]).ended).stdout));
  });

  it('keeps the pauses of the recording at its original speed, until it is interrupted', async () => {
    const replay = start(['--speed', 'original']);
    await waitFor('the first fact', () => factsIn(replay.stdout()).length > 0);
    replay.interrupt();
    expect(await replay.ended).toMatchObject({ code: 130 });
    expect(factsIn(replay.stdout()).length).toBeLessThan(10);
  });

  it('goes so many times faster', async () => {
    const { code, stdout } = await start(['--speed', '1000']).ended;
    expect({ code, facts: factsIn(stdout).length > 200 }).toEqual({ code: 0, facts: true });
  });

  it.each([
    [['--speed', '0'], '--speed 0 is neither "original" nor a number above 0, such as 10.'],
    [['--break', 'run=1'], 'run=1 is no run id.'],
  ])('refuses %j with a sentence', async (options, sentence) => {
    expect(await start(options).ended).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
  });
});
