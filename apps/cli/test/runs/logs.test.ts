import { describe, expect, it } from 'vitest';
import { aGateway, aStream, COMMENT, RUN } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';

const time = '2026-05-01T12:00:00.000Z';
const aLine = (line: string, attempt = 1): object => ({ at: time, attempt, stream: 'stdout', line });
const aCut = { at: time, attempt: 1, cut: { lines: 12, bytes: 3_400 } };
const anEvent = (event: string, id: string, data: object): string =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

describe('runledger logs', () => {
  it('follows the lines over disconnects, says what is missing, and ends with the run', async () => {
    const gateway = await aGateway(
      aStream(COMMENT, anEvent('line', '1-1', aLine('  one')), anEvent('cut', '1-13', aCut)),
      aStream(
        anEvent('line', '2-1', aLine('evil \u001B[2J row', 2)),
        anEvent('notice', '2-1', { attempt: 2, notice: 'It is not kept.' }),
        anEvent('end', '2-1', { status: 'success' }),
      ),
    );
    const result = await runCli(['logs', RUN, '--follow', '--tail', '5'], at(gateway.url));
    expect(result).toEqual({
      code: 0,
      stdout: ['  one', '[12 lines are missing here, 3400 bytes]', '[attempt 2]', 'evil  [2J row', ''].join(
        '\n',
      ),
      stderr: 'It is not kept.\n',
    });
    expect(gateway.requests.map(({ path }) => path)).toEqual(
      Array.from({ length: 2 }, () => `/api/run/${RUN}/logs?tail=5&follow=true`),
    );
    expect(gateway.headers.map((headers) => headers['last-event-id'])).toEqual([undefined, '1-13']);
  });

  it('refuses an option that is not a number', async () => {
    const result = await runCli(['logs', RUN, '--attempt', 'last'], at('http://127.0.0.1:1/api'));
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining('--attempt last') });
  });
});
