import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { BIN, startCliProcess } from '../fixtures/cli-process.ts';
import { COMMENT, RUN, aGateway, aRun, aStream } from '../fixtures/fake-gateway.ts';
import { at } from '../fixtures/run-cli.ts';
import { payload, secret, send } from '../fixtures/start-listening.ts';

describe('the process of a command', () => {
  it('writes the result to standard output and exits with 0', async () => {
    const gateway = await aGateway(aRun());
    const cli = startCliProcess(['get', RUN, '--json'], at(gateway.url));
    expect(await cli.exitCode).toBe(0);
    expect(JSON.parse(cli.stdout())).toEqual(aRun().body);
    expect(cli.stderr()).toBe('');
  });

  it('writes the reason of a failure to standard error and exits with 2', async () => {
    const cli = startCliProcess(['get', RUN], at('http://127.0.0.1:59999/api'));
    expect(await cli.exitCode).toBe(2);
    expect(cli.stdout()).toBe('');
    expect(cli.stderr()).toContain('the connection was refused');
  });

  it('exits with 130 after Ctrl-C, and prints that the run continues', async () => {
    const queued = aRun({ status: 'queued', progress: 0, live_status: null });
    const gateway = await aGateway(queued, aStream(COMMENT), queued);
    const cli = startCliProcess(['watch', RUN], at(gateway.url));
    await waitFor('the first line', () => cli.stdout() !== '');
    cli.interrupt();
    expect(await cli.exitCode).toBe(130);
    expect(cli.stderr()).toContain('Stopped. A queued run continues; runledger cancel ends it.\n');
  });

  it('stops in order after Ctrl-C if it is runledger listen', async () => {
    const cli = startCliProcess(['listen', '--port', '0', '--secret', secret]);
    const url = await waitFor('the listener', () => /Listening at (\S+),/.exec(cli.stderr())?.[1]);
    expect(await send(url)).toEqual({ status: 200, text: 'Thank you.\n' });
    await waitFor('the line', () => cli.stdout().includes(payload.run_id));
    cli.interrupt();
    expect(await cli.exitCode).toBe(0);
  });

  it('exits with 0 when the reader of its output closes the pipe', async () => {
    const gateway = await aGateway(
      aRun({ status: 'queued', live_status: 'waiting for an A10G (2 ahead)' }),
      // It ends at once, and the run is read again a second later: the pipe is closed by then.
      aStream(),
      aRun({ status: 'queued', live_status: 'waiting for an A10G (next)' }),
    );
    const cli = startCliProcess(['watch', RUN, '--json'], at(gateway.url));
    await waitFor('the first line', () => cli.stdout() !== '');
    cli.closeStdout();
    expect(await cli.exitCode).toBe(0);
  });

  it('starts with the script of the package', async () => {
    const cli = startCliProcess(['--help'], { main: BIN });
    expect(await cli.exitCode).toBe(0);
    expect(cli.stdout()).toContain('Usage: runledger');
  });
});
