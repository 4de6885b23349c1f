import { stripVTControlCharacters } from 'node:util';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { RUN, aGateway, aRun, type Answer } from '../fixtures/fake-gateway.ts';
import { at, runCli, startCli } from '../fixtures/run-cli.ts';

const OTHER = '01920000-0000-7000-8000-00000000000b';
const page = (...runs: readonly object[]): Answer => ({
  status: 200,
  body: { runs: runs.map((run) => aRun(run).body), next_cursor: null },
});
const WATCH = ['runs', 'list', '--watch'];

describe('runledger runs list --watch', () => {
  it('prints a line for each new or changed run without a terminal, until Ctrl-C', async () => {
    const gateway = await aGateway(
      page({ progress: 0.5 }),
      page({ progress: 0.55 }),
      page({ id: OTHER, status: 'queued', progress: 0 }, { status: 'success', progress: 1 }),
    );
    const watching = startCli(WATCH, at(gateway.url));
    await waitFor('the other run', () => watching.stdout().includes(OTHER));
    watching.interrupt();
    const { code, stdout, stderr } = await watching.ended;
    expect([code, stderr]).toEqual([0, '']);
    const [head = '', ...lines] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^ID +CREATED +STATUS/);
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^${RUN}  .*Z  running +50 %`)),
      expect.stringMatching(new RegExp(`^${RUN}  .*Z  success +100 %`)),
      expect.stringMatching(new RegExp(`^${OTHER}  .*Z  queued +0 %`)),
    ]);
  });

  it('draws a table again at a terminal, no wider and no longer than it', async () => {
    const many = Array.from({ length: 3 }, () => ({ live_status: 'a long sentence '.repeat(20) }));
    const gateway = await aGateway(page(...many), page({ status: 'failed' }));
    const watching = startCli(WATCH, { ...at(gateway.url), terminal: { columns: 100 } });
    await waitFor('the second table', () => watching.stdout().includes('failed'));
    watching.interrupt();
    expect((await watching.ended).code).toBe(0);
    const stdout = watching.stdout();
    // Up from the empty line to the head, and away with all of it.
    expect(stdout).toContain('\n\r\u001B[4A\u001B[J');
    for (const line of stripVTControlCharacters(stdout).split(/\r?\n\r?/))
      expect(line.length).toBeLessThanOrEqual(99);
    expect(gateway.requests[0]?.path).toBe('/api/runs?limit=22');
  });

  it.each([
    [['--at', '2026-05-01T12:00:00Z'], 'What is past does not change.'],
    [['--limit', '101'], '--limit 101 is not a whole number from 1 to 100.'],
  ])('refuses %j', async (args, sentence) => {
    const result = await runCli([...WATCH, ...args], at('http://127.0.0.1:9/api'));
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(sentence) });
  });
});
