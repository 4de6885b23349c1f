import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONTENT_KINDS } from '@runledger/contracts/slices/slice';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { append } from '@runledger/event-log/append/append';
import { aRun, queued } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linesOfSlice } from '../fixtures/lines-of-slice.ts';
import { besideALog } from '../fixtures/beside-a-log.ts';
import type { Cli } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let cli: Cli;
beforeAll(async () => {
  ({ log, cli } = await besideALog(opened));
});
afterAll(() => opened.disposeAsync());

const DAY = ['capture', '--from', '2026-01-01T00:00:00Z', '--to', '2100-01-01T00:00:00Z'];

describe('runledger capture', () => {
  it('writes all that the log holds of a run, with the content that it is asked to keep', async () => {
    const run = aRun();
    const inputs = { prompt: 'a cat', seed: 7, token: 'sealed' };
    await append(log, queued(run, { inputs, secret_inputs: ['token'], tags: ['nightly'] }), 0);
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'masks.json'), '{"inputs": ["/prompt"]}');
    const args = ['--run', run.run_id, '--keep', 'inputs,tags', '--mask', 'masks.json'];
    const { code, stderr } = await cli(['capture', ...args, '--output', 'run.ndjson.zst'], { cwd });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toMatch(/^Captured 1 fact of runs, /);
    expect(stderr).toContain(
      'It holds what clients and programs wrote: inputs, tags, but what the masks name. Keep it as secret as that.',
    );
    expect(stderr).toMatch(/Who competed for slots meanwhile: runledger capture --from \S+Z --to \S+Z/);
    const lines = await linesOfSlice(join(cwd, 'run.ndjson.zst'));
    const masked = { prompt: expect.stringMatching(/^[0-9a-f]{32}$/), seed: 7 };
    expect(lines).toMatchObject([
      { runs: [run.run_id], content: { kept: ['inputs', 'tags'], masked: { inputs: ['/prompt'] } } },
      { event: { type: 'RunQueued', data: { inputs: masked, tags: ['nightly'] } } },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/a cat|sealed|token/);
  });

  it('names each kind of content in its help, and in the refusal of another one', async () => {
    const { stdout } = await cli(['capture', '--help']);
    const { stderr } = await cli([...DAY, '--keep', 'inputs,prompts']);
    expect(stderr).toMatch(/^--keep prompts is no kind of content\./);
    for (const kind of Object.keys(CONTENT_KINDS))
      for (const text of [stdout, stderr]) expect(text).toContain(kind);
  });

  it.each([
    [
      '{"inputs": ["/prompt"]}',
      [],
      'replaces parts of inputs, which this slice does not have at all. Add --keep inputs',
    ],
    ['{"inputs": ["prompt"]}', ['--keep', 'all'], '--mask masks.json: /inputs/0 must match pattern'],
    ['{"prompts": []}', ['--keep', 'all'], 'It must be as {"inputs": ["/prompt"]'],
    ['[', ['--keep', 'all'], '--mask: masks.json cannot be used: it is not valid JSON'],
  ])('refuses the masks %s', async (masks, options, sentence) => {
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'masks.json'), masks);
    const { code, stderr } = await cli([...DAY, '--mask', 'masks.json', ...options], { cwd });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(sentence) });
  });
});
