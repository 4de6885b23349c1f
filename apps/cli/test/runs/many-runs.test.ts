import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RUN } from '../fixtures/fake-gateway.ts';
import { aRealGateway } from '../fixtures/real-gateway.ts';
import type { RealGateway } from '../fixtures/real-gateway.ts';

let gateway: RealGateway;
beforeAll(async () => {
  gateway = await aRealGateway();
});
afterAll(() => gateway[Symbol.asyncDispose]());

const queue = async (...args: string[]): Promise<string> => {
  const result = await gateway.cli(['queue', '--deployment', gateway.deployment_id, ...args]);
  expect(result).toMatchObject({ code: 0 });
  return result.stdout.trim();
};
const idsOf = (stdout: string): string[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): { id: string } => JSON.parse(line))
    .map(({ id }) => id);

describe('a run of the command', () => {
  it('is queued once for an idempotency key, and can be rerun with other inputs, watched and cancelled', async () => {
    const run = await queue('--input', 'size=64', '--input', 'palette=ember', '--idempotency-key', 'one');
    expect(await queue('--input', 'size=64', '--input', 'palette=ember', '--idempotency-key', 'one')).toBe(
      run,
    );

    const again = await gateway.cli(['rerun', run, '--input', 'size=128', '--json']);
    const { run_id } = JSON.parse(again.stdout);
    const inputs = await inputsOf(run_id);
    expect(inputs).toEqual({ ...DEFAULTS, size: 128, palette: 'ember' });
    const other = await gateway.cli(['rerun', run, '--inputs', '-'], { stdin: '{"size": 32}' });
    expect(await inputsOf(other.stdout.trim())).toEqual({ ...DEFAULTS, size: 32 });
    const same = await gateway.cli(['rerun', run]);
    expect(await inputsOf(same.stdout.trim())).toEqual({ ...DEFAULTS, size: 64, palette: 'ember' });

    const watching = gateway.cli(['watch', run_id]);
    expect(await gateway.cli(['cancel', run_id])).toMatchObject({ code: 0 });
    expect(await watching).toMatchObject({
      code: 130,
      stdout: expect.stringMatching(/cancelled \(cancelled_by_client\) after \d\.\d s\n$/),
    });
  });
});

/** Of the definitions of the sample's inputs. */
const DEFAULTS = { size: 512, iterations: 1500, seconds: 3, palette: 'lagoon' };

const inputsOf = async (run: string): Promise<unknown> =>
  (await gateway.read(`/run/${run}?include=inputs`)).workflow_inputs;

describe('runledger runs list', () => {
  it('lists the runs that match, newest first, in columns or as JSON', async () => {
    const [first, second] = [await queue('--gpu', 'T4'), await queue('--gpu', 'T4', '--tag', 'a:1,b')];
    await queue('--gpu', 'L4');
    await gateway.cli(['cancel', first]);
    const t4 = ['runs', 'list', '--gpu', 'T4', '--deployment', gateway.deployment_id];
    expect(idsOf((await gateway.cli([...t4, '--json'])).stdout)).toEqual([second, first]);
    const tagged = await gateway.cli([...t4, '--tag', 'b', '--tag', 'a:1', '--json']);
    expect(idsOf(tagged.stdout)).toEqual([second]);
    const searched = await gateway.cli([...t4, '--search', first.toUpperCase(), '--json']);
    expect(idsOf(searched.stdout)).toEqual([first]);
    const cancelled = await gateway.cli([...t4, '--status', 'cancelled,failed', '--status', 'timeout']);
    const [head = '', line = '', ...rest] = cancelled.stdout.split('\n');
    expect(head).toMatch(/^ID +CREATED +STATUS +DONE +GPU +TOOK +NOW, OR WHY$/);
    expect(line).toMatch(
      new RegExp(`^${first}  \\S+Z  cancelled +0 % +T4 +\\d+\\.\\d s +cancelled_by_client$`),
    );
    expect(rest).toEqual(['']);
    const newest = await gateway.cli([...t4, '--limit', '1']);
    expect(newest.stderr).toBe('There are more than 1. Use a higher --limit to see them.\n');
    const none = await gateway.cli([...t4, '--origin', 'manual', '--created-after', '2026-01-01']);
    expect(none).toMatchObject({ code: 0, stdout: '', stderr: 'No run matches.\n' });
  });

  it.each([
    [['--created-after', 'noon'], 'query.created_after: '],
    [['--limit', 'all'], '--limit all must be a number from 1 to 10000.'],
  ])('refuses %j with a sentence', async (args, sentence) => {
    expect(await gateway.cli(['runs', 'list', ...args])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger runs cancel', () => {
  const h100 = ['runs', 'cancel', '--gpu', 'H100'];

  it('shows how many, and cancels them after a person agrees', async () => {
    const runs = [await queue('--gpu', 'H100'), await queue('--gpu', 'H100')];
    expect(await gateway.cli([...h100, '--dry-run'])).toEqual({
      code: 0,
      stdout: 'This would cancel 2 runs. Nothing was changed.\n',
      stderr: '',
    });
    expect(await gateway.cli(h100)).toEqual({
      code: 2,
      stdout: '',
      stderr: 'This would cancel 2 runs, and there is no terminal to ask. Nothing was changed. Use --yes.\n',
    });
    expect(await gateway.cli(h100, { answer: 'n' })).toMatchObject({
      code: 2,
      stderr: 'Cancel 2 runs? [y/N] n\nNothing was changed.\n',
    });
    expect(await gateway.cli(h100, { answer: 'y' })).toMatchObject({
      code: 0,
      stdout: '2 runs cancelled.\n',
    });
    for (const run of runs) expect(await gateway.read(`/run/${run}`)).toMatchObject({ status: 'cancelled' });
    expect((await gateway.cli(h100)).stdout).toBe('0 runs cancelled.\n');
  });

  it('does not ask with --yes', async () => {
    await queue('--gpu', 'H100');
    const { stdout } = await gateway.cli([...h100, '--yes', '--json']);
    expect(JSON.parse(stdout)).toEqual({
      matched: 1,
      cancelled: 1,
      requested: 0,
      failed: 0,
      complete: true,
      dry_run: false,
    });
  });

  it.each([
    [['--yes'], 'use --all for all runs'],
    [['--yes', '--all', '--gpu', 'T4'], 'A filter and --all exclude each other.'],
  ])('with %j requires a filter or --all', async (args, sentence) => {
    expect(await gateway.cli(['runs', 'cancel', ...args])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });
});

describe('runledger runs rerun', () => {
  const ended = ['runs', 'rerun', '--gpu', 'L40S', '--status', 'cancelled'];

  it('shows how many, and queues each again once after a person agrees', async () => {
    const runs = [await queue('--gpu', 'L40S'), await queue('--gpu', 'L40S')];
    for (const run of runs) await gateway.cli(['cancel', run]);
    expect(await gateway.cli([...ended, '--dry-run'])).toMatchObject({
      code: 0,
      stdout: 'This would rerun 2 runs. Nothing was changed.\n',
    });
    expect(await gateway.cli(ended, { answer: 'n' })).toMatchObject({
      code: 2,
      stderr: 'Rerun 2 runs? [y/N] n\nNothing was changed.\n',
    });
    const key = ['--idempotency-key', 'nightly'];
    expect(await gateway.cli([...ended, ...key], { answer: 'y' })).toMatchObject({
      code: 0,
      stdout: '2 runs queued again with the idempotency key nightly.\n',
    });
    expect(await gateway.cli([...ended, ...key, '--yes'])).toMatchObject({
      code: 0,
      stdout: '0 runs queued again with the idempotency key nightly.\n',
      stderr: '2 runs had been queued again before, with this key.\n',
    });
    const again = await gateway.cli(['runs', 'list', '--gpu', 'L40S', '--origin', 'replay', '--json']);
    expect(idsOf(again.stdout)).toHaveLength(2);
  });

  it('is what rerun --failed does with failed runs', async () => {
    const [all, failed] = [
      await gateway.cli(['runs', 'rerun', '--gpu', 'L40S', '--dry-run']),
      await gateway.cli(['rerun', '--failed', '--gpu', 'L40S', '--dry-run']),
    ];
    // Those runs were cancelled.
    expect(all.stdout).toMatch(/^This would rerun [1-9]\d* runs\./);
    expect(failed.stdout).toBe('This would rerun 0 runs. Nothing was changed.\n');
    for (const [args, sentence] of [
      [['rerun'], 'Use runledger rerun RUN, or runledger rerun --failed for all failed runs.'],
      [['rerun', RUN, '--gpu', 'L4'], 'A run and a filter exclude each other.'],
      [['rerun', RUN, '--failed'], 'A run and a filter exclude each other.'],
      [['rerun', '--failed', '--input', 'a=1'], 'are for a single run.'],
    ] as const)
      expect(await gateway.cli(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
  });

  it('requires a filter or --all', async () => {
    expect(await gateway.cli(['runs', 'rerun', '--yes'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('use --all for all runs that have ended'),
    });
  });
});
