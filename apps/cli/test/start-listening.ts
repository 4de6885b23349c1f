import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { newSigningSecret, signedHeaders } from '@runledger/webhooks/signature';
import { waitFor } from '@runledger/testing/wait-for';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './run-cli.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Listening {
  readonly url: string;
  readonly output: () => string;
  readonly lines: () => string[];
  readonly errors: () => string;
  /** As Ctrl-C does; the exit code. */
  readonly interrupt: () => Promise<number | null>;
}

/** `runledger listen` at a free port, until the test is over. */
export const startListening = async (
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Listening> => {
  const child = spawn(process.execPath, [main, 'listen', '--port', '0', ...args], {
    cwd: temporaryFolder(),
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const url = await waitFor('it to listen', () => /Listening at (\S+),/.exec(stderr)?.[1]);
  return {
    url,
    output: () => stdout,
    lines: () => stdout.split('\n').slice(0, -1),
    errors: () => stderr,
    interrupt: async () => {
      child.kill('SIGINT');
      const [code] = await closed;
      return typeof code === 'number' ? code : null;
    },
  };
};

export const secret = newSigningSecret();

export const payload = {
  run_id: '01920000-0000-7000-8000-00000000000a',
  status: 'success',
  live_status: null,
  progress: 1,
  outputs: [{ data: {} }],
  sequence: 9,
  finished: true,
  end_reason: 'completed',
};

export interface Sent {
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly secrets?: readonly string[];
  readonly at?: Date;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a notification as the notifier does. */
export const send = async (
  url: string,
  { body = JSON.stringify(payload), secrets = [secret], at = new Date(), headers = {} }: Sent = {},
): Promise<{ status: number; text: string }> => {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = signedHeaders({ id: 'msg_1', at, body: bytes, secrets });
  const response = await fetch(url, { method: 'POST', headers: { ...signed, ...headers }, body: bytes });
  return { status: response.status, text: await response.text() };
};
