import { describe, expect, it } from 'vitest';
import { LOST, RUN, aGateway } from '../fixtures/fake-gateway.ts';
import { cliAt } from '../fixtures/run-cli.ts';

describe('runledger runs cancel with several pages', () => {
  const page = (counts: object, next_cursor: string | null = null) => ({
    status: 200,
    body: {
      matched: 0,
      cancelled: 0,
      requested: 0,
      failed: 0,
      created_before: null,
      next_cursor,
      ...counts,
    },
  });

  it('continues after an empty page, repeats a lost request, and counts all runs', async () => {
    const fake = await aGateway(
      page({ matched: 1000, cancelled: 900, requested: 90 }, 'second'),
      page({}, 'third'),
      LOST,
      page({ matched: 20, cancelled: 3, requested: 1 }),
    );
    const result = await cliAt(fake.url, 'rl_key')(['runs', 'cancel', '--all', '--yes']);
    expect(result).toMatchObject({
      code: 0,
      stdout: '903 runs cancelled. 91 running runs end within the grace period.\n',
      stderr: expect.stringContaining('26 runs had a cancel request before, and will end.'),
    });
    expect(fake.requests.map(({ body }) => body)).toEqual([
      { filter: {}, dry_run: false },
      { filter: {}, dry_run: false, cursor: 'second' },
      { filter: {}, dry_run: false, cursor: 'third' },
      { filter: {}, dry_run: false, cursor: 'third' },
    ]);
  });

  it('selects the runs of a schedule', async () => {
    const schedule_id = '01920000-0000-7000-8000-00000000000a';
    const fake = await aGateway(page({ matched: 1, cancelled: 1 }));
    await cliAt(fake.url, 'rl_key')(['runs', 'cancel', '--schedule', schedule_id, '--yes']);
    expect(fake.requests.map(({ body }) => body)).toEqual([{ filter: { schedule_id }, dry_run: false }]);
  });

  it('cancels no run that was queued after the count', async () => {
    const created_before = '2026-05-01T12:00:00.001Z';
    const fake = await aGateway(
      page({}, 'second'),
      page({ matched: 2, created_before }, 'third'),
      page({ matched: 1, created_before: '2026-04-01T12:00:00.001Z' }),
      page({ matched: 3, cancelled: 3 }),
    );
    const result = await cliAt(fake.url, 'rl_key')(['runs', 'cancel', '--gpu', 'H100'], { answer: 'y' });
    expect(result).toMatchObject({ code: 0, stderr: 'Cancel 3 runs? [y/N] y\n' });
    const filter = { gpu: 'H100' };
    expect(fake.requests.map(({ body }) => body)).toEqual([
      { filter, dry_run: true },
      { filter, dry_run: true, cursor: 'second' },
      { filter, dry_run: true, cursor: 'third' },
      { filter: { ...filter, created_before }, dry_run: false },
    ]);
  });

  it('reports runs that could not be cancelled, and fails', async () => {
    const fake = await aGateway(page({ matched: 3, cancelled: 2, failed: 4 }));
    expect(await cliAt(fake.url, 'rl_key')(['runs', 'cancel', '--all', '--yes'])).toEqual({
      code: 2,
      stdout: '2 runs cancelled.\n',
      stderr:
        '1 run had a cancel request before, and will end.\n4 runs could not be cancelled now: they changed too often, or could not be read. Try again in a moment.\n',
    });
  });

  it('reports what it did before it was refused', async () => {
    const refused = { status: 401, body: { detail: 'Invalid API key' } };
    const fake = await aGateway(page({ matched: 1000, cancelled: 1 }, 'second'), refused);
    expect(await cliAt(fake.url, 'rl_key')(['runs', 'cancel', '--all', '--yes'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^1 run cancelled\. Then the command failed:\n.*was refused/),
    });
  });
});

describe('runledger runs rerun with several pages', () => {
  const page = (counts: object, next_cursor: string | null = null) => ({
    status: 200,
    body: {
      matched: 0,
      queued: 0,
      already_queued: 0,
      refused: [],
      stopped: null,
      created_before: null,
      next_cursor,
      ...counts,
    },
  });
  const refused = (reason: string, runs: number) => [{ reason, runs, run_id: RUN }];

  it('repeats a lost request with its key, and adds up what was refused', async () => {
    const fake = await aGateway(
      page({ matched: 1000, queued: 998, refused: refused('inputs_gone', 2) }, 'second'),
      LOST,
      page({ matched: 20, queued: 17, already_queued: 2, refused: refused('inputs_gone', 1) }),
    );
    const result = await cliAt(fake.url, 'rl_key')(['runs', 'rerun', '--all', '--yes']);
    expect(result).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^1015 runs queued again with the idempotency key \S+\.\n$/),
      stderr: expect.stringContaining(
        `2 runs had been queued again before, with this key.\n3 runs could not be queued again, such as ${RUN}: the inputs have expired`,
      ),
    });
    expect(fake.requests.map(({ body }) => body)).toEqual([
      { filter: {}, dry_run: false },
      { filter: {}, dry_run: false, cursor: 'second' },
      { filter: {}, dry_run: false, cursor: 'second' },
    ]);
    expect(new Set(fake.headers.map((headers) => headers['idempotency-key'])).size).toBe(1);
  });

  it('names its key when it fails, since runs may be queued', async () => {
    const fake = await aGateway({ status: 401, body: { detail: 'Invalid API key' } });
    expect(await cliAt(fake.url, 'rl_key')(['runs', 'rerun', '--all', '--yes'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^0 runs queued again with the idempotency key \S+\. Then the command failed:\n.*was refused/,
      ),
    });
  });

  it('stops when the queue is full, and says how to continue', async () => {
    const fake = await aGateway(page({ matched: 7, queued: 7, stopped: 'queue_full' }, 'here'));
    const rerun = ['runs', 'rerun', '--all', '--yes', '--idempotency-key', 'nightly'];
    expect(await cliAt(fake.url, 'rl_key')(rerun)).toEqual({
      code: 2,
      stdout: '7 runs queued again with the idempotency key nightly.\n',
      stderr:
        'The organisation has as many queued runs as it may. Repeat the command later with --idempotency-key nightly: it continues, and queues no run twice.\n',
    });
    expect(fake.requests).toHaveLength(1);
  });
});

describe('runledger runs list with several pages', () => {
  it('continues after an empty page', async () => {
    const fake = await aGateway(
      { status: 200, body: { runs: [], next_cursor: 'second' } },
      { status: 200, body: { runs: [], next_cursor: null } },
    );
    expect(await cliAt(fake.url, 'rl_key')(['runs', 'list'])).toMatchObject({
      code: 0,
      stderr: 'No run matches.\n',
    });
    expect(fake.requests.map(({ path }) => path)).toEqual([
      '/api/runs?limit=50',
      '/api/runs?limit=50&cursor=second',
    ]);
  });
});
