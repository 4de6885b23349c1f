import { once } from 'node:events';
import { connect } from 'node:net';
import { findMongod } from '@runledger/local-servers/mongodb';
import { healthPage } from '@runledger/testing/health-pages';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOOPBACK, listenersOf, type Listener } from '../fixtures/listeners.ts';
import { runApi } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';
import { healthTokenOf } from '../monitoring/metrics-page.ts';

/**
 * Every port of a standalone, and why a program without rights may reach it. A new one fails the tests below until it is here with its
 * reason.
 */
const KNOWN = {
  'the API': 'every path that shows something of an organisation wants a key, or the secret in its address',
  'the health server of gateway': 'says without the token whether it is live and which checks fail',
  'the health server of scheduler': 'the same',
  'the health server of notifier': 'the same',
  'the health server of gpu-executor': 'the same',
  'the proxy of a program':
    'is here where no namespace has it: it drops who comes while there is no program, and else connects to public addresses',
  'the mongod that was on PATH':
    'a connection may do nothing before it has proven the password of the only user',
  'the clients of nats-server': 'a connection may do nothing before it has signed with the key of a user',
} as const;

const SERVICE = /services\/([\w-]+)\/\S*main\./;

const nameOf = (
  { command, port }: Listener,
  standalone: Standalone,
  proxies: ReadonlySet<number>,
): string => {
  if (proxies.has(port)) return 'the proxy of a program';
  if (port === Number(new URL(standalone.url).port)) return 'the API';
  const service = SERVICE.exec(command)?.[1];
  if (service !== undefined) return `the health server of ${service}`;
  if (/mongod|secantus/.test(command)) return 'the mongod that was on PATH';
  return command.includes('nats-server.conf') ? 'the clients of nats-server' : command;
};

/** What nats-server's monitoring and our servers have, and what others often have. */
const PATHS = [
  '/metrics',
  '/jsz?accounts=1&streams=1&consumers=1&config=1',
  '/connz?subs=1&auth=1',
  '/subsz?subs=1',
  '/accountz',
  '/accstatz',
  '/varz',
  '/healthz',
  '/livez',
  '/readyz',
  '/api/runs',
  '/api/system',
  '/api/metrics',
  '/debug/pprof/',
  '/',
];

interface Heard {
  readonly status: number;
  readonly text: string;
}

const ask = async (port: number, path: string): Promise<Heard> => {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(15_000),
    });
    return { status: answer.status, text: `${JSON.stringify([...answer.headers])}${await answer.text()}` };
  } catch (error) {
    return { status: 0, text: String(error) };
  }
};

/** All that the port sends to a client that sends this, until it ends the connection. */
const said = async (port: number, line: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  socket.on('error', () => {});
  socket.write(line);
  await once(socket, 'close');
  return text;
};

describe('a program of this machine without any rights', () => {
  let standalone: Standalone;
  let listeners: readonly Listener[];
  /** Their ports. */
  const proxies = new Set<number>();
  /** What identifies the organisation and its run, and consumers at the broker. */
  let secrets: readonly string[];
  beforeAll(async () => {
    standalone = await startStandalone({
      env: { EXECUTOR_NAME: 'box-with-a-name', EXECUTOR_GPUS: 'A10G:1' },
    });
    const api = runApi(standalone);
    const { id, org_id } = await api.ended(await api.queue({ seconds: 0, size: 16 }), 60_000);
    secrets = [id, org_id, standalone.api_key, 'box-with-a-name', 'scheduler-'];
    listeners = listenersOf(standalone.pid);
    for (const { command, port: each } of listeners)
      if (SERVICE.exec(command)?.[1] === 'gpu-executor' && (await ask(each, '/livez')).status === 0)
        proxies.add(each);
  }, 150_000);
  afterAll(() => standalone.stop());

  const port = (name: keyof typeof KNOWN): number =>
    listeners.find((each) => nameOf(each, standalone, proxies) === name)?.port ?? 0;

  it('reaches these ports of a standalone and no others, all of them on loopback', async () => {
    const hasMongod = (await findMongod({ env: process.env })) !== undefined;
    const absent = [
      ...(hasMongod ? [] : ['the mongod that was on PATH']),
      ...(proxies.size > 0 ? [] : ['the proxy of a program']),
    ];
    const expected = Object.keys(KNOWN).filter((name) => !absent.includes(name));
    expect(listeners.map((each) => nameOf(each, standalone, proxies)).toSorted()).toEqual(
      expected.toSorted(),
    );
    expect(new Set(listeners.map(({ address }) => address))).toEqual(new Set([LOOPBACK]));
  });

  it('hears nothing of organisations, runs, executors and consumers at any of them', async () => {
    for (const { port: each, command } of listeners) {
      for (const path of PATHS) {
        const { text } = await ask(each, path);
        expect(
          secrets.filter((secret) => text.includes(secret)),
          `${command} at ${path}`,
        ).toEqual([]);
      }
    }
  });

  it.each(['gateway', 'scheduler', 'notifier', 'gpu-executor'] as const)(
    'is refused the metrics of the %s, which are there for who has the token',
    async (service) => {
      const of = port(`the health server of ${service}`);
      const refused = await ask(of, '/metrics');
      expect([refused.status, refused.text]).toEqual([
        401,
        expect.stringContaining('send the token of RUNLEDGER_HEALTH_TOKEN'),
      ]);
      expect((await ask(of, '/livez')).text).toMatch(/\{"live":true\}\s*$/);
      expect((await ask(of, '/readyz')).status).toBe(200);
      const token = healthTokenOf(standalone.dataFolder);
      const page = await healthPage(`http://127.0.0.1:${of}`, '/metrics', { token });
      expect([page.status, await page.text()]).toEqual([
        200,
        expect.stringContaining(`service="${service}"`),
      ]);
    },
  );

  it('is refused by the API', async () => {
    for (const path of ['/api/runs', '/api/system'])
      expect((await ask(port('the API'), path)).status).toBe(401);
  });

  it('learns of the broker which program it is, and nothing more', async () => {
    const broker = port('the clients of nats-server');
    const login = JSON.stringify({
      verbose: false,
      pedantic: false,
      protocol: 1,
      name: 'x',
      lang: 'c',
      version: '1',
    });
    const asks = `CONNECT ${login}\r\nSUB >  1\r\nSUB $SYS.> 2\r\nPUB $SYS.REQ.SERVER.PING.CONNZ 0\r\n\r\nPING\r\n`;
    const text = await said(broker, asks);
    expect(text).toMatch(/^INFO \{[^\n]*\}\s+-ERR 'Authorization Violation'\s*$/);
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });
});
