import { inspect } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Runledger, RunledgerError } from '../../src/main.ts';
import { readSettings } from '../../src/http/settings.ts';

afterEach(() => vi.unstubAllEnvs());
const apiKey = 'rl_secret';

describe('a client', () => {
  it('takes what is left out from the environment', () => {
    vi.stubEnv('RUNLEDGER_URL', 'https://runledger.example/base/');
    vi.stubEnv('RUNLEDGER_API_KEY', 'rl_from_env');
    expect(readSettings({})).toMatchObject({ url: 'https://runledger.example/base', apiKey: 'rl_from_env' });
    expect(readSettings({ apiKey }).apiKey).toBe(apiKey);
  });

  it('sends no key when that is null, whatever the environment has', async () => {
    vi.stubEnv('RUNLEDGER_API_KEY', 'rl_from_env');
    const sent: Headers[] = [];
    const answer: typeof fetch = async (_url, init) => {
      sent.push(new Headers(init?.headers));
      return Response.json({});
    };
    const client = new Runledger({ url: 'http://127.0.0.1', apiKey: null, fetch: answer });
    await client.request('GET', '/session');
    expect(sent.map((headers) => headers.has('authorization'))).toEqual([false]);
  });

  it('understands an address without a base path', () => {
    expect(readSettings({ url: 'http://127.0.0.1:8080', apiKey }).url).toBe('http://127.0.0.1:8080/api');
    expect(readSettings({ url: 'http://127.0.0.1:8080/', apiKey, basePath: '' }).url).toBe(
      'http://127.0.0.1:8080',
    );
  });

  it.each([
    [{ apiKey }, /RUNLEDGER_URL/],
    [{ url: 'http://127.0.0.1' }, /RUNLEDGER_API_KEY/],
    [{ url: '127.0.0.1:8080', apiKey }, /not the URL of an API/],
    [{ url: 'ftp://runledger.example', apiKey }, /not the URL of an API/],
    [{ url: 'http://runledger.example/api?x=1', apiKey }, /not the URL of an API/],
    [{ url: 'http://me:word@runledger.example', apiKey }, /a user or a password/],
    [{ url: 'http://127.0.0.1', apiKey: 'rl_x\n' }, /Copy it again/],
    [{ url: 'http://127.0.0.1', apiKey, timeoutMs: 0 }, /timeoutMs is 0/],
    [{ url: 'http://127.0.0.1', apiKey, timeoutMs: Number.NaN }, /timeoutMs is NaN/],
    [{ url: 'http://127.0.0.1', apiKey, retries: 1.5 }, /retries is 1.5/],
  ])('refuses %o and says what to do', (options, message) => {
    vi.stubEnv('RUNLEDGER_URL', '');
    vi.stubEnv('RUNLEDGER_API_KEY', '');
    expect(() => new Runledger(options)).toThrow(RunledgerError);
    expect(() => new Runledger(options)).toThrow(message);
  });

  it('shows its key to no log', () => {
    const client = new Runledger({ url: 'http://127.0.0.1', apiKey });
    expect(`${inspect(client, { depth: 9, showHidden: true })}${JSON.stringify(client)}`).not.toContain(
      apiKey,
    );
  });
});
