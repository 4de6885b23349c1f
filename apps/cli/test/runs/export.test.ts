import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { aRun, assigned, failed, queued, started } from '@runledger/testing/run-events';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RUN_COLUMNS } from '../../src/runs/run-columns.ts';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';
import { storeFacts } from '../fixtures/stored-facts.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

let gateway: RealGateway;
const runs: string[] = [];
beforeAll(async () => {
  gateway = await aRealGateway();
  for (let n = 0; n < 3; n += 1) {
    const run = aRun(gateway.org_id);
    runs.unshift(run.run_id);
    const facts = [queued(run, { tags: [`n:${n}`, 'x'] }), assigned(run), started(run), failed(run)];
    await storeFacts(gateway.log, ...facts.slice(0, n + 2));
  }
});
afterAll(() => gateway[Symbol.asyncDispose]());

interface Row {
  readonly run_id: string;
  readonly [column: string]: unknown;
}
const rowsOf = (text: string): Row[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('runledger export', () => {
  it('writes a row for each run as JSON lines, newest first', async () => {
    const { code, stdout, stderr } = await gateway.cli(['export']);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^Exported 3 runs in \d+ bytes\.\n$/)]);
    const rows = rowsOf(stdout);
    expect(rows.map(({ run_id }) => run_id)).toEqual(runs);
    expect(Object.keys(rows[0] ?? {})).toEqual(RUN_COLUMNS.map(({ name }) => name));
    expect(rows[0]).toMatchObject({
      status: 'failed',
      end_reason: 'workflow_error',
      error_kind: 'program_exit',
      error_message: 'size is too large',
      error_retryable: true,
      tags: ['n:2', 'x'],
      created_at: expect.stringMatching(/Z$/),
      duration_s: expect.any(Number),
      progress: 0.25,
      attempts: 1,
      executor: 'box',
      output_files: 0,
      webhook_status: null,
    });
    expect(rows[2]).toMatchObject({ status: 'started', ended_at: null, duration_s: null, error_kind: null });
  });

  it('writes the same as Parquet, with types', async () => {
    const cwd = temporaryFolder();
    const { code } = await gateway.cli(['export', '--format', 'parquet', '--output', 'runs.parquet'], {
      cwd,
    });
    expect([code, await readdir(cwd)]).toEqual([0, ['runs.parquet']]);
    const bytes = await readFile(join(cwd, 'runs.parquet'));
    const file = new Uint8Array(bytes).buffer;
    expect(parquetMetadata(file)).toMatchObject({ num_rows: 3n, created_by: 'runledger' });
    const rows = await parquetReadObjects({ file });
    const json = rowsOf((await gateway.cli(['export'])).stdout);
    const asJson = rows.map((row) =>
      JSON.parse(
        JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)),
      ),
    );
    expect(asJson).toEqual(json);
    expect(rows[0]).toMatchObject({ created_at: expect.any(Date), number: expect.any(BigInt) });
  });

  it('is whole without runs too', async () => {
    const nothing = ['export', '--until', '2001-01-01'];
    expect(await gateway.cli(nothing)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'Exported 0 runs in 0 bytes.\n',
    });
    const cwd = temporaryFolder();
    await gateway.cli([...nothing, '--format', 'parquet', '--output', 'none'], { cwd });
    const file = new Uint8Array(await readFile(join(cwd, 'none'))).buffer;
    expect(parquetMetadata(file).num_rows).toBe(0n);
    expect(
      parquetMetadata(file)
        .schema.slice(1)
        .map(({ name }) => name),
    ).toEqual(RUN_COLUMNS.map(({ name }) => name));
  });

  it('takes the filters of a list and a span of time, and all pages', async () => {
    const [newest] = runs;
    const { stdout } = await gateway.cli([
      'export',
      '--status',
      'failed',
      '--tag',
      'n:2',
      '--since',
      '2001-01-01',
    ]);
    expect(rowsOf(stdout).map(({ run_id }) => run_id)).toEqual([newest]);
    const page = { status: 200, body: { runs: [], next_cursor: 'next' } };
    const paged = await aGateway(page, { status: 200, body: { runs: [], next_cursor: null } });
    await runCli(['export', '--gpu', 'T4', '--until', '2026-02-01'], at(paged.url));
    expect(paged.requests.map(({ path }) => path)).toEqual([
      '/api/runs?gpu=T4&created_before=2026-02-01&limit=100',
      '/api/runs?gpu=T4&created_before=2026-02-01&limit=100&cursor=next',
    ]);
  });

  it('leaves no file behind when it fails', async () => {
    const cwd = temporaryFolder();
    const refusing = await aGateway({ status: 403, body: { detail: 'no' } });
    const { code } = await runCli(['export', '--output', 'runs'], { ...at(refusing.url), cwd });
    expect([code, await readdir(cwd)]).toEqual([2, []]);
    expect(await gateway.cli(['export', '--output', '/nowhere/runs'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/nowhere/runs cannot be written: ENOENT'),
    });
    expect((await gateway.cli(['export', '--format', 'csv'])).stderr).toContain(
      'Allowed choices are ndjson, parquet',
    );
  });
});
