import { createServer } from 'node:net';
import { once } from 'node:events';
import { newSigningSecret } from '@runledger/webhooks/signature';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it, onTestFinished } from 'vitest';
import { aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';
import { payload, secret, send, startListening } from '../fixtures/start-listening.ts';

const secretIs = (current: string, previous: string | null = null) => ({
  status: 200,
  body: {
    secret: current,
    created_at: '2026-05-01T12:00:00.000Z',
    previous: previous === null ? null : { secret: previous, expires_at: '2026-05-02T12:00:00.000Z' },
  },
});

describe('runledger listen', () => {
  it('shows each notification and its valid signature, until Ctrl-C', async () => {
    const listening = await startListening(['--secret', secret]);
    expect(await send(listening.url)).toEqual({ status: 200, text: 'Thank you.\n' });
    const underWay = {
      ...payload,
      status: 'running',
      finished: false,
      end_reason: null,
      progress: 0.42,
      live_status: 'evil \u001B[2J row',
    };
    await send(`${listening.url}/two?x=1`, { body: JSON.stringify(underWay) });
    await waitFor('both lines', () => listening.lines().length === 2);
    const { run_id } = payload;
    expect(listening.lines()).toEqual([
      expect.stringMatching(
        `^\\S+Z  /hook  run ${run_id} has ended: success, 1 output  signature valid  answered 200  msg_1$`,
      ),
      expect.stringContaining(
        `  /hook/two?x=1  run ${run_id} running 42 % evil  [2J row  signature valid  answered 200  msg_1`,
      ),
    ]);
    expect(await listening.interrupt()).toBe(0);
    expect(listening.stderr()).toContain(`Try it with: runledger queue --webhook ${listening.url}\n`);
  });

  it('refuses a request with an invalid, old or missing signature', async () => {
    const listening = await startListening(['--secret', secret]);
    const { url } = listening;
    const refusals = [
      await send(url, { secrets: [newSigningSecret()] }),
      await send(url, { headers: { 'webhook-id': 'msg_2' } }),
      await send(url, { headers: { 'webhook-id': 'not.an.id' } }),
      await send(url, { headers: { 'webhook-timestamp': 'now' } }),
      await send(url, { headers: { 'webhook-signature': 'v1,é' } }),
      await send(url, { at: new Date(Date.now() - 600_000) }),
      await fetch(url, { method: 'POST', body: '{}' }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 401));
    await waitFor('the last line', () => listening.stdout().includes('NOT SIGNED'));
    expect(listening.stdout().match(/SIGNATURE INVALID {2}answered 401/g)).toHaveLength(5);
    expect(listening.stdout()).toContain('SIGNATURE TOO OLD  answered 401');
    expect(listening.stdout()).not.toContain('signature valid');
  });

  it('accepts each signature of a rotation', async () => {
    const listening = await startListening(['--secret', secret]);
    expect(await send(listening.url, { secrets: [newSigningSecret(), secret] })).toMatchObject({
      status: 200,
    });
  });

  it('uses the secrets of the organisation, including a new one', async () => {
    const [first, second] = [newSigningSecret(), newSigningSecret()];
    const gateway = await aGateway(secretIs(first, secret), secretIs(second, first));
    const listening = await startListening([], at(gateway.url).env);
    expect(gateway.requests).toMatchObject([{ method: 'GET', path: '/api/webhooks/secret' }]);
    expect(await send(listening.url)).toMatchObject({ status: 200 });
    const rotated = await waitFor('the new secret to be known', async () => {
      const answer = await send(listening.url, { secrets: [second] });
      return answer.status === 200 ? answer : undefined;
    });
    expect(rotated.text).toBe('Thank you.\n');
  });

  it('shows notifications without a secret as not checked', async () => {
    const listening = await startListening([]);
    expect(await send(listening.url)).toMatchObject({ status: 200 });
    await waitFor('the line', () => listening.stdout().includes('signature not checked  answered 200'));
    expect(listening.stderr()).toMatch(/^Signatures are not checked until the secret is known. Use --secret/);
  });

  it('answers with the status of --answer', async () => {
    const listening = await startListening(['--secret', secret, '--answer', '503']);
    expect(await send(listening.url)).toEqual({ status: 503, text: 'Status 503, from --answer.\n' });
  });

  it('prints the whole notification with --json', async () => {
    const listening = await startListening(['--secret', secret, '--json']);
    await send(listening.url);
    await send(listening.url, { body: new Uint8Array([0xff, 0x0a]) });
    await waitFor('both lines', () => listening.lines().length === 2);
    const [first, second] = listening.lines().map((line) => JSON.parse(line));
    expect(first).toMatchObject({
      path: '/hook',
      headers: { 'webhook-id': 'msg_1', 'runledger-webhook-version': null },
      signature: 'right',
      answered: 200,
      body: payload,
    });
    expect(second).toMatchObject({ signature: 'right', body: '\uFFFD\n' });
  });

  it('accepts only POST, up to the size of a notification', async () => {
    const listening = await startListening(['--secret', secret]);
    expect(await fetch(listening.url)).toMatchObject({ status: 405 });
    // The sender may lose the answer while it still sends.
    const large = await send(listening.url, { body: 'x'.repeat(2 * 1024 * 1024) }).then(
      ({ status }) => status,
      () => 'cut off',
    );
    expect([413, 'cut off']).toContain(large);
    expect(await send(listening.url, { body: 'a text' })).toMatchObject({ status: 200 });
    await waitFor('the line', () => listening.lines().length === 1);
    expect(listening.stdout()).toContain('not a notification: a text  signature valid');
  });

  it('explains that its port is in use, and how to choose another', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('A TCP server has no port.');
    expect(await runCli(['listen', '--secret', secret, '--port', String(address.port)])).toEqual({
      code: 2,
      stdout: '',
      stderr: `The command cannot listen on port ${address.port} of 127.0.0.1: another program uses it. Choose another port, such as --port 9001 (0 for a free one).\n`,
    });
  });

  it.each([
    [['--secret', 'whsec_guess'], '--secret cannot be used: A signing secret is "whsec_"'],
    [['--port', '70000'], '--port 70000 is not a whole number from 0 to 65535.'],
    [['--answer', '100'], '--answer 100 is not a whole number from 200 to 599.'],
  ])('refuses %j, without quoting the secret', async (args, sentence) => {
    const { code, stderr } = await runCli(['listen', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain('guess');
  });
});
