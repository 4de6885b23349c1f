import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterAll, describe, expect, expectTypeOf, it } from 'vitest';
import { list, oneOf, port, seconds, url } from '../src/config-schemas.ts';
import { ConfigError, describeConfig, readConfig, type Environment } from '../src/config.ts';

const schema = Type.Object({
  PORT: port({ description: 'where the API listens', default: 8080 }),
  NATS_URLS: list(url({ protocols: ['nats:', 'tls:'], description: 'a server' }), {
    description: 'the servers of the log',
    minItems: 1,
  }),
  GRACE: seconds({ description: 'how long a cancel may take', default: 2.5, maximum: 60 }),
  LOG_LEVEL: oneOf(['info', 'debug'], { description: 'how much is logged', default: 'info' }),
  FLUSH: Type.Boolean({ default: true }),
  SLOTS: Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('auto')], { default: 'auto' }),
  KEY: Type.Optional(Type.String({ description: 'signs tokens', minLength: 8, secret: true })),
  PREFIX: Type.Optional(Type.String({ emptyIsValue: true })),
});

const enough = { NATS_URLS: 'nats://a:4222' };

const problemsOf = (env: Environment): ConfigError => {
  try {
    readConfig(schema, env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
};

const folder = mkdtempSync(join(tmpdir(), 'service-kit-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const fileWith = (text: string): string => {
  const path = join(folder, 'secret');
  writeFileSync(path, text);
  return path;
};

describe('readConfig', () => {
  it('uses the defaults and omits optional variables', () => {
    expect(readConfig(schema, enough)).toEqual({
      PORT: 8080,
      NATS_URLS: ['nats://a:4222'],
      GRACE: 2.5,
      LOG_LEVEL: 'info',
      FLUSH: true,
      SLOTS: 'auto',
    });
  });

  it('converts every value by its schema', () => {
    const env = {
      PORT: '0',
      NATS_URLS: 'nats://a:4222, tls://b,',
      GRACE: '.5',
      LOG_LEVEL: 'debug',
      FLUSH: '0',
      SLOTS: '3',
      KEY: 'long enough',
      PREFIX: '',
      PATH: '/bin',
    };
    expect(readConfig(schema, env)).toEqual({
      PORT: 0,
      NATS_URLS: ['nats://a:4222', 'tls://b'],
      GRACE: 0.5,
      LOG_LEVEL: 'debug',
      FLUSH: false,
      SLOTS: 3,
      KEY: 'long enough',
      PREFIX: '',
    });
  });

  it('infers its type from the schema', () => {
    const config = readConfig(schema, enough);
    expectTypeOf(config.PORT).toEqualTypeOf<number>();
    expectTypeOf(config.NATS_URLS).toEqualTypeOf<string[]>();
    expectTypeOf(config.LOG_LEVEL).toEqualTypeOf<'info' | 'debug'>();
    expectTypeOf(config.SLOTS).toEqualTypeOf<number | 'auto'>();
    expectTypeOf(config).toHaveProperty('KEY').toEqualTypeOf<string | undefined>();
  });

  it('treats an empty text as not set', () => {
    expect(readConfig(schema, { ...enough, PORT: '', KEY: '' })).toMatchObject({ PORT: 8080 });
    expect(problemsOf({ NATS_URLS: '' }).problems).toMatchObject([
      { variable: 'NATS_URLS', wrong: 'is not set' },
    ]);
  });

  it('reports all problems at once, each with the expected value', () => {
    const { message } = problemsOf({
      PORT: '70000',
      GRACE: 'soon',
      LOG_LEVEL: 'loud',
      FLUSH: 'maybe',
      SLOTS: '0',
    });
    expect(message).toMatchInlineSnapshot(`
      "the configuration has 6 problems:
        PORT = "70000" must be <= 65535. It should be a whole number from 0 to 65535 (where the API listens).
        NATS_URLS is not set. It should be a list separated by commas, each item a URL that begins with nats:// or tls:// (the servers of the log).
        GRACE = "soon" is not a number. It should be a number of seconds from 0 to 60 (how long a cancel may take).
        LOG_LEVEL = "loud" is not one of the allowed values. It should be one of info, debug (how much is logged).
        FLUSH = "maybe" is neither true nor false. It should be true or false.
        SLOTS = "0" is not one of the allowed values. It should be a whole number of at least 1 or auto."
    `);
  });

  it.each(['1.5', '0x10', '1e3', ' 1', 'NaN', '99999999999999999'])(
    'rejects %j as a whole number',
    (PORT) => {
      expect(problemsOf({ ...enough, PORT }).problems).toMatchObject([{ variable: 'PORT' }]);
    },
  );

  it.each(['Infinity', '1e999', '', '1,5'])('rejects %j as a number', (text) => {
    const needed = Type.Object({ RATE: Type.Number() });
    expect(() => readConfig(needed, { RATE: text })).toThrow(ConfigError);
  });

  it.each(['http://a', 'nats', 'nats://a,mongodb://b'])('rejects %j as URLs of the log', (NATS_URLS) => {
    expect(problemsOf({ NATS_URLS }).problems).toMatchObject([{ variable: 'NATS_URLS' }]);
  });

  it('prints neither secrets nor URLs that may hold a password', () => {
    const { message } = problemsOf({ NATS_URLS: 'nats//me:hunter2@a', KEY: 'hunter3' });
    expect(message).toContain('KEY');
    expect(message).toContain('NATS_URLS');
    expect(message).not.toContain('hunter');
  });

  it('reports a default that violates its schema as a defect, not as a wrong configuration', () => {
    expect(() => readConfig(Type.Object({ A: Type.Integer({ default: 'x' }) }), {})).toThrow(TypeError);
  });
});

describe('a secret in a file', () => {
  it('is the text of the file without surrounding whitespace', () => {
    expect(readConfig(schema, { ...enough, KEY_FILE: fileWith(' from a file \r\n\n') }).KEY).toBe(
      'from a file',
    );
  });

  it('excludes the same secret in the environment', () => {
    const env = { ...enough, KEY: 'directly given', KEY_FILE: fileWith('from a file') };
    expect(problemsOf(env).problems).toMatchObject([
      { variable: 'KEY', wrong: expect.stringContaining('KEY_FILE') },
    ]);
  });

  it.each([
    ['does not exist', () => join(folder, 'none'), 'ENOENT'],
    ['is a folder', () => folder, 'not a file'],
    ['holds nothing but blanks', () => fileWith(' \n'), 'is empty'],
    ['is larger than any secret', () => fileWith('x'.repeat(64 * 1024 + 1)), 'larger than 64 KiB'],
  ])('is a problem that names setting and file when the file %s', (_what, made, why) => {
    const KEY_FILE = made();
    const { problems } = problemsOf({ ...enough, KEY_FILE });
    expect(problems).toMatchObject([{ variable: 'KEY_FILE', wrong: expect.stringContaining(KEY_FILE) }]);
    expect(problems[0]?.wrong).toContain(why);
  });

  it('is checked like every other value, and not printed', () => {
    const { problems, message } = problemsOf({ ...enough, KEY_FILE: fileWith('shorty\n') });
    expect(problems).toMatchObject([{ variable: 'KEY_FILE' }]);
    expect(message).not.toContain('shorty');
  });

  it('is read for secret settings only', () => {
    expect(readConfig(schema, { ...enough, PORT_FILE: '/none' }).PORT).toBe(8080);
  });
});

describe('describeConfig', () => {
  it('returns one row for each variable', () => {
    expect(describeConfig(schema)).toMatchObject([
      { name: 'PORT', default: '8080', required: false, description: 'where the API listens', secret: false },
      { name: 'NATS_URLS', default: undefined, required: true, description: 'the servers of the log' },
      { name: 'GRACE', default: '2.5' },
      { name: 'LOG_LEVEL', default: 'info' },
      { name: 'FLUSH', default: 'true', description: '' },
      { name: 'SLOTS', default: 'auto' },
      { name: 'KEY', default: undefined, required: false, secret: true },
      { name: 'PREFIX', required: false },
    ]);
  });
});
