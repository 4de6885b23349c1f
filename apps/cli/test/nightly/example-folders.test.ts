import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { comfyuiSettings } from '@runledger/testing/stand-ins/comfyui';
import { describe, expect, it } from 'vitest';
import { EXAMPLES, expectTwice, localEnvironment, runFolder } from '../fixtures/local-folders.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const env = localEnvironment();
const comfyui = comfyuiSettings();
const text = (value: string): object => ({ data: { text: [value] } });

describe('a folder of the examples', () => {
  it.each<readonly [string, readonly string[], object]>([
    ['shell', ['words=hello there'], { files: [expect.stringMatching(/\/inputs\.json$/)] }],
    ['node', ['a=41'], text('41 and 1 are 42')],
    ['cog', ['name=Ada'], { files: [expect.stringMatching(/\/greeting\.txt$/)] }],
  ])(
    '%s runs here, and again without being prepared',
    (name, inputs, expected) => expectTwice({ folder: join(EXAMPLES, name), inputs, env }, expected),
    60_000,
  );

  it.skipIf(comfyui === null)(
    'comfyui runs where there is one',
    async () => {
      const folder = join(EXAMPLES, 'comfyui');
      const run = await runFolder({ folder, inputs: ['stripes=8'], env: { ...env, ...comfyui } });
      expect(run, run.stderr).toMatchObject({
        status: 'success',
        files: [join(run.output, 'stripes_8.png')],
      });
      expect(readFileSync(join(run.output, 'stripes_8.png')).subarray(1, 4).toString()).toBe('PNG');
    },
    60_000,
  );

  it('weights runs with what its address has', async () => {
    const server = createServer((_, response) => response.end('the words of a model\n')).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const folder = temporaryFolder();
    cpSync(join(EXAMPLES, 'weights'), folder, { recursive: true });
    const config = join(folder, 'runledger.toml');
    writeFileSync(
      config,
      readFileSync(config, 'utf8').replace('https://example.com', `http://127.0.0.1:${port}`),
    );
    try {
      const allowed = { ...env, RUNLEDGER_WEBHOOK_ALLOW: 'loopback' };
      await expectTwice({ folder, inputs: ['place=1'], env: allowed }, text('words'));
    } finally {
      server.close();
    }
  }, 60_000);
});
