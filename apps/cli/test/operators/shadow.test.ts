import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SliceFact, SliceGap, SliceHeader } from '@runledger/contracts/slices/slice';
import { parseJson } from '@runledger/contracts/json';
import { readSliceFile } from '@runledger/event-log/slices/read-slice-file';
import { writeSlice } from '@runledger/testing/write-slice';
import { beforeAll, describe, expect, it } from 'vitest';
import { cliWith, type Cli } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

type Line = SliceHeader | SliceFact | SliceGap;

const SAMPLE = join(import.meta.dirname, '../../../replay/test/sample/sample.ndjson.zst');
const SETTINGS = join(import.meta.dirname, '../../../replay/test/sample/sample-settings.json');
const SHADOW = ['shadow', 'slice.ndjson.zst'];

let cli: Cli;
const lines: Line[] = [];
beforeAll(async () => {
  cli = cliWith(JSON.parse(await readFile(SETTINGS, 'utf8')));
  for await (const line of readSliceFile(SAMPLE)) lines.push(line);
});

/** A folder with the sample, each line as `change` makes it. */
const folderWith = async (change: (line: Line) => Line): Promise<string> => {
  const cwd = temporaryFolder();
  await writeSlice(join(cwd, 'slice.ndjson.zst'), lines.map(change));
  return cwd;
};

const isAssigned = (line: Line): line is SliceFact =>
  line.kind === 'fact' && Object(line.event).type === 'RunAssigned';

describe('runledger shadow', () => {
  it('ends with 0 when no decision differs, and says what was compared and assumed', async () => {
    const { code, stdout, stderr } = await cli(['shadow', SAMPLE]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^Assumed, as the slice does not say it:\n {2}Weights of organisations: /);
    expect(stderr).toMatch(/\d+ facts played, \d\d decisions compared: no difference\.\n$/);
  });

  it('ends with 1 when one differs, and prints it beside the recorded one', async () => {
    const wrong = lines.find(isAssigned);
    const cwd = await folderWith((line) => {
      if (line !== wrong || line.kind !== 'fact') return line;
      const event = Object(line.event);
      return { ...line, event: { ...event, data: { ...event.data, slot: 9 } } };
    });
    const { code, stdout, stderr } = await cli(SHADOW, { cwd });
    expect(code).toBe(1);
    expect(stdout.split('\n').slice(0, 4)).toEqual([
      expect.stringMatching(
        /^position \d+ of RUNS, 20\S+Z, run [0-9a-f-]+: scheduler decides something else$/,
      ),
      expect.stringMatching(/^ {2}recorded {2}RunAssigned: attempt 1 on box-l4, slot 9 \(L4\): /),
      expect.stringMatching(/^ {2}now {7}RunAssigned: attempt 1 on box-l4, slot 0 \(L4\): /),
      '  differs   slot 9, now 0',
    ]);
    expect(stderr).toMatch(/decisions compared: \d+ differences?\.\n$/);
    const json = await cli([...SHADOW, '--json'], { cwd });
    const printed = json.stdout.trim().split('\n').map(parseJson);
    expect(printed[0]).toMatchObject({ kind: 'different', differs: ['slot'] });
    expect(printed.at(-1)).toMatchObject({ compared: expect.any(Number), differences: printed.length - 1 });
  });

  it('ends with 2 when nothing was compared', async () => {
    const cwd = await folderWith((line) => (line.kind === 'header' ? { ...line, from: line.to } : line));
    const { code, stderr } = await cli(SHADOW, { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain('No decision of the scheduler was compared: the slice holds none from ');
  });

  it('ends with 2 for a file that is no slice, and for the runs of one organisation', async () => {
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'slice.ndjson.zst'), 'no slice');
    expect(await cli(SHADOW, { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be read'),
    });
    const organisations = ['01920000-0000-7000-8000-00000000000a'];
    const one = await folderWith((line) => (line.kind === 'header' ? { ...line, organisations } : line));
    expect(await cli(SHADOW, { cwd: one })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Capture it without --organisation, --deployment and --run.'),
    });
  });

  it.each([
    [['--tolerance', 'x'], '--tolerance x is not a time.'],
    [['--tolerance', '2h'], '--tolerance 2h is more than an hour.'],
  ])('refuses %j with a sentence', async (options, sentence) => {
    expect(await cli(['shadow', SAMPLE, ...options])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
  });

  it('refuses settings that the scheduler refuses', async () => {
    const wrong = cliWith({ RUNLEDGER_ORG_LIMITS: 'acme:1' });
    expect(await wrong(['shadow', SAMPLE])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('RUNLEDGER_ORG_LIMITS'),
    });
  });
});
