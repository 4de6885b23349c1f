import { describe, expect, it } from 'vitest';
import { aGateway, aRun, RUN, type Answer } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const OTHER = '01920000-0000-7000-8000-00000000000b';
const some = (...ids: string[]): Answer => ({
  status: 200,
  body: { runs: ids.map((id) => aRun({ id }).body), next_cursor: null },
});
const cancelled: Answer = {
  status: 200,
  body: { run_id: RUN, status: 'cancelled', outcome: 'cancelled' },
};

describe('the beginning of the id of a run', () => {
  it('of 8 characters or more is looked for among all runs', async () => {
    // A run may have the text elsewhere.
    const gateway = await aGateway(some('01930000-0000-7000-8000-00000000000a', RUN), cancelled);
    expect(await runCli(['cancel', '01920000-'], at(gateway.url))).toEqual({
      code: 0,
      stdout: `Run ${RUN} is cancelled.\n`,
      stderr: '',
    });
    expect(gateway.requests.map(({ path }) => path)).toEqual([
      '/api/runs?search=01920000-&limit=11',
      `/api/run/${RUN}/cancel`,
    ]);
  });

  it.each([
    ['get', []],
    ['why', []],
    ['logs', []],
    ['history', []],
    ['deliveries', []],
    ['redeliver', []],
    ['at', ['3']],
    ['diff', ['3', '4']],
    ['delete', ['--outputs']],
    ['rerun', ['--inputs', '{}']],
    ['watch', []],
  ])('of 6 is looked for among the newest, for %s', async (command, more) => {
    const gateway = await aGateway(some(RUN), { status: 404, body: { detail: 'Run not found' } });
    await runCli([command, '01920A'.replace('A', '0'), ...more], at(gateway.url));
    const [first, second] = gateway.requests.map(({ path }) => path);
    expect(first).toBe('/api/runs?limit=100');
    expect(second).toContain(`/api/run/${RUN}`);
  });

  it('may be in upper case', async () => {
    const id = 'abcdef00-0000-7000-8000-00000000000a';
    const gateway = await aGateway(some(id), cancelled);
    await runCli(['cancel', 'ABCDEF'], at(gateway.url));
    expect(gateway.requests[1]?.path).toBe(`/api/run/${id}/cancel`);
  });

  it('that several have is refused, and they are listed', async () => {
    const gateway = await aGateway(some(OTHER, RUN));
    const { code, stdout, stderr } = await runCli(['cancel', '019200'], at(gateway.url));
    expect([code, stdout, stderr.trimEnd().split('\n')]).toEqual([
      2,
      '',
      [
        'More than one run has an id that begins with 019200. Give more of it:',
        `  ${OTHER}  created 2026-05-01T12:00:00.000Z  running`,
        `  ${RUN}  created 2026-05-01T12:00:00.000Z  running`,
      ],
    ]);
    expect(gateway.requests).toHaveLength(1);
    const many = Array.from({ length: 11 }, (_, i) => `01920000-0000-7000-8000-0000000000${i + 10}`);
    const more = await runCli(['cancel', '01920000'], at((await aGateway(some(...many))).url));
    expect(more.stderr.trimEnd().split('\n')).toHaveLength(12);
    expect(more.stderr).toMatch(/\n {2}and more: runledger runs list\n$/);
  });

  it.each([
    ['abcdef', 'None of the newest 100 runs has an id that begins with abcdef. With 8 characters or more,'],
    ['abcdef00', 'No run has an id that begins with abcdef00. List them with: runledger runs list'],
  ])('that none has is refused: %s', async (given, sentence) => {
    const gateway = await aGateway(some(RUN));
    expect(await runCli(['delete', given], at(gateway.url))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(sentence),
    });
    expect(gateway.requests).toHaveLength(1);
  });

  it.each([RUN, '01920', 'nobody', '0192000-', `${RUN}0`])(
    'is not %s, which the service is given',
    async (given) => {
      const gateway = await aGateway({ status: 404, body: { detail: 'Run not found' } });
      await runCli(['get', given], at(gateway.url));
      expect(gateway.requests.map(({ path }) => path)).toEqual([`/api/run/${given}`]);
    },
  );
});
