import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { createLogger, type Logger, type LogLevel } from '../src/logger.ts';

const logged = (write: (logger: Logger) => void, level: LogLevel = 'info'): Record<string, unknown>[] => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  write(createLogger({ service: 'gateway', instance: 'gw-1', level, destination }));
  expect(lines.every((line) => line.endsWith('}\n'))).toBe(true);
  return lines.map((line) => JSON.parse(line));
};

describe('a logger', () => {
  it('writes JSON lines with time, level, service and instance', () => {
    const [line] = logged((logger) => logger.info({ port: 1 }, 'listening'));
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      service: 'gateway',
      instance: 'gw-1',
      pid: process.pid,
      port: 1,
      msg: 'listening',
    });
  });

  it('writes nothing below its level', () => {
    expect(logged((logger) => logger.info('x'), 'warn')).toEqual([]);
  });

  it('adds the fields of a child', () => {
    expect(logged((logger) => logger.child({ run_id: 'r' }).info('x'))).toMatchObject([
      { run_id: 'r', msg: 'x' },
    ]);
  });

  it('writes an error with its type, message and stack', () => {
    expect(logged((logger) => logger.error({ err: new TypeError('broken') }, 'x'))).toMatchObject([
      { err: { type: 'TypeError', message: 'broken', stack: expect.stringContaining('logger.test.ts') } },
    ]);
  });

  it.each([
    'authorization',
    'Authorization',
    'api_key',
    'apiKey',
    'X-Api-Key',
    'cookie',
    'Runledger-Session',
    'token',
    'upload_token',
    'webhook_secret',
    'password',
  ])('hides the value of %s at any depth and of any type', (name) => {
    const lines = logged((logger) => {
      logger.info({ [name]: 'hunter2' }, 'x');
      logger.info({ a: { b: [{ [name]: { inner: 'hunter2' } }] } }, 'x');
      logger.child({ [name]: 'hunter2' }).info('x');
    });
    expect(lines).toHaveLength(3);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(lines[0]).toMatchObject({ [name]: '[hidden]', msg: 'x', service: 'gateway' });
  });

  it('hides the user of URLs, tokens, signatures of URLs and signing secrets in messages and errors', () => {
    const lines = logged((logger) => {
      logger.info('connected to nats://me:hunter2@host:4222 and mongodb://host/db');
      logger.error({
        err: new Error('no mongodb://u:hunter2@a,b:1/db', { cause: new Error('s3://hunter2@x') }),
      });
      logger.info('sent Bearer hunter2hunter2hunter2');
      logger.info('signed with whsec_hunter2+hunter2/hunter2=');
      logger.info('GET /run/1/events?access_token=rlt_hunter2hunter2hunter2.hunter2 failed');
      logger.info('GET /outputs/a/b.png?expires=1&signature=hunter2_hunter2-hunter2 failed');
    });
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(lines[0]).toMatchObject({ msg: 'connected to nats://[hidden]@host:4222 and mongodb://host/db' });
  });

  it('keeps ordinary fields unchanged', () => {
    const fields = { tokens: 5, key: 'k', url: 'http://a/b?c=d@e', msg2: 'Bearer token missing' };
    expect(logged((logger) => logger.info(fields, 'password wrong'))).toMatchObject([
      { ...fields, msg: 'password wrong' },
    ]);
  });
});

/** Logs, and exits in the same moment. */
const exiting = (): ChildProcess => {
  const { href } = new URL('../src/logger.ts', import.meta.url);
  const script = `
    import { createLogger, standardOutput } from ${JSON.stringify(href)};
    const logger = createLogger({ service: 'test', level: 'info', destination: standardOutput() });
    process.stdin.resume().once('end', () => {
      for (const line of ['one', 'two', 'three']) logger.info(line);
      process.exit(0);
    });`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
};

describe('a process that exits right after it has logged', () => {
  it('has written every line', async () => {
    const child = exiting();
    child.stdin?.end();
    const lines = await text(child.stdout ?? Readable.from([]));
    const messages = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).msg);
    // One that was being written when the process exited may come last.
    expect(new Set(messages)).toEqual(new Set(['one', 'two', 'three']));
  });

  it('exits when nobody reads its log any more', async () => {
    const child = exiting();
    child.stdout?.destroy();
    await once(child.stdout ?? child, 'close');
    child.stdin?.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
