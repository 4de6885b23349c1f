import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../src/document/console.ts';
import type { TestGateway } from '../fixtures/gateway/a-gateway.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';

const PAGE =
  '<html lang="en" data-api="/api"><script type="module" src="/console/assets/main-1.js"></script></html>';

let bed: TestBed;
let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runledger-console-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), PAGE);
  await writeFile(join(folder, 'assets/main-1.js'), 'console.log(1)');
  await writeFile(join(folder, 'assets/notes.txt'), 'not for anybody');
  bed = await openTestBed();
  const environment = { RUNLEDGER_CONSOLE: folder, RUNLEDGER_BASE_PATH: '/v1' };
  gateway = await bed.gateway({ environment });
});
afterAll(async () => {
  await bed[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

describe('the console', () => {
  it.each(['/console', '/console/', '/console/runs', '/console/runs/an-id', '/console/index.html'])(
    'is the same page at %s, with the base path of the API',
    async (path) => {
      const { status, headers, body } = await call(`${gateway.url}${path}`, null);
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(body).toBe(PAGE.replace('"/api"', '"/v1"'));
      expect(headers.get('cache-control')).toBe('no-cache');
    },
  );

  it('may load nothing from other hosts, be framed by nobody, and run no script that is in a page', async () => {
    const { headers } = await call(`${gateway.url}/console`, null);
    const policy = String(headers.get('content-security-policy'));
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|http/);
  });

  it('has files whose names change with their content, which browsers keep', async () => {
    const { status, headers, body } = await call(`${gateway.url}/console/assets/main-1.js`, null);
    expect([status, body]).toEqual([200, 'console.log(1)']);
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  });

  it.each([
    '/console/assets/main-0.js',
    '/console/assets/notes.txt',
    '/console/assets/..%2f..%2fetc%2fpasswd',
  ])('has no file %s', async (path) => {
    const { status, body } = await call(`${gateway.url}${path}`, null);
    expect([status, body.code]).toEqual([404, 'path_unknown']);
  });

  it('is where / leads', async () => {
    const page = await call(`${gateway.url}/`, null, { headers: { accept: 'text/html' } });
    expect(page.body).toContain('<a href="/console">Console</a>');
    const links = await call(`${gateway.url}/`, null, { headers: { accept: 'application/json' } });
    expect(links.body.console).toBe(`${gateway.url}/console`);
  });

  it('is off without a folder: there is no such path, and / does not lead there', async () => {
    const without = await bed.gateway();
    expect((await call(`${without.url}/console`, null)).status).toBe(404);
    const page = await call(`${without.url}/`, null, { headers: { accept: 'text/html' } });
    expect(page.body).not.toContain('onsole');
  });

  it('says how to build one when there is none in the folder', async () => {
    await expect(consoleFiles(join(folder, 'assets'))).rejects.toThrow(
      /RUNLEDGER_CONSOLE names .* which is no built console \(it has no index\.html\)\. It should be off, or the folder that npm run build/,
    );
    await expect(consoleFiles(join(folder, 'none'))).rejects.toThrow('ENOENT');
  });
});
