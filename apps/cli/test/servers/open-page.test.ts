import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { RUN, aGateway } from '../fixtures/fake-gateway.ts';
import { at, runCli } from '../fixtures/run-cli.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

/** A folder for PATH with a program that notes what it opens. */
const aBrowser = () => {
  const folder = temporaryFolder();
  const file = join(folder, 'opened');
  writeFileSync(
    join(folder, 'xdg-open'),
    `#!/bin/sh\nprintf %s "$1" > '${file}.draft'\nmv '${file}.draft' '${file}'\n`,
  );
  chmodSync(join(folder, 'xdg-open'), 0o755);
  const opened = (): Promise<string> =>
    waitFor('the browser', () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined));
  return { env: { PATH: `${folder}:/usr/bin:/bin`, DISPLAY: ':9' }, opened };
};

describe('runledger open', () => {
  it('opens the reference of the API', async () => {
    const gateway = await aGateway({ status: 200, body: '' });
    const { env, opened } = aBrowser();
    const result = await runCli(['open'], { env: { ...at(gateway.url).env, ...env } });
    expect(result).toEqual({ code: 0, stdout: `${gateway.url}/docs\n`, stderr: '' });
    expect(await opened()).toBe(`${gateway.url}/docs`);
  });

  it("opens a picture of a run's history, as a file that needs no key", async () => {
    const gateway = await aGateway({ status: 200, body: '<svg/>' });
    const { env, opened } = aBrowser();
    const { stdout } = await runCli(['open', RUN], { env: { ...at(gateway.url).env, ...env } });
    expect(stdout).toMatch(new RegExp(`^file:///\\S+/run-${RUN}\\.svg\n$`));
    expect(readFileSync(fileURLToPath(await opened()), 'utf8')).toBe('<svg/>');
    expect(gateway.requests[0]?.path).toBe(`/api/run/${RUN}/history.svg`);
  });

  it.each([{ PATH: '/nothing' }, { PATH: '/nothing', DISPLAY: ':9' }])(
    'prints the address where there is no browser: %j',
    async (env) => {
      const gateway = await aGateway({ status: 200, body: '' });
      expect(await runCli(['open'], { env: { ...at(gateway.url).env, ...env } })).toEqual({
        code: 0,
        stdout: `${gateway.url}/docs\n`,
        stderr: 'No browser was found here. Open the address in one.\n',
      });
    },
  );
});
