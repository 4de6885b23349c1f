import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ORG_ID } from '../fixtures/isolations.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';
import { archiveOf, manifestOf, openCode, sourceOf, uv, wheelOf } from './versions.ts';

const outputs = (text: string): string => JSON.stringify({ output: { text } });

describe('the code of a version', () => {
  it('is fetched once, for all slots and runs, and executed in its folder, which it cannot change', async () => {
    const script = `#!/bin/sh
cat words.txt
touch here 2>/dev/null || echo closed
touch "$RUNLEDGER_OUTPUT_DIR/file"
echo '${outputs('done')}'
`;
    const archive = await archiveOf({ 'run.sh': script, 'words.txt': 'hello\n' });
    const source = sourceOf(archive);
    const { start, workFolder } = await openCode();
    const manifest = manifestOf(archive, { command: ['./run.sh'] });
    const runs = [0, 1].map((slot) => start(manifest, { slot, source }));
    for (const { result, codes, lines } of runs) {
      expect(await result).toMatchObject({
        outcome: 'succeeded',
        data: { text: ['done'] },
        files: [{ filename: 'file' }],
      });
      expect(codes).toEqual([archive.sha256]);
      expect(lines.filter(({ stream }) => stream === 'stdout').map(({ line }) => line)).toEqual([
        'hello',
        'closed',
      ]);
    }
    expect(source.fetches()).toBe(1);
    expect(await start(manifest, { source, nth: 1 }).result).toMatchObject({ outcome: 'succeeded' });
    expect(source.fetches()).toBe(1);
    expect(existsSync(join(workFolder, 'prepared', ORG_ID, 'code', archive.sha256, 'words.txt'))).toBe(true);
  });
});

describe.skipIf(uv === null)('the packages of a version', () => {
  it('are installed once from a folder with wheels, and belong to no program', async () => {
    const wheelHouse = temporaryFolder();
    chmodSync(wheelHouse, 0o755);
    const wheel = wheelOf('words', '1.0', 'def greet(name):\n    return "hello " + name\n');
    writeFileSync(join(wheelHouse, wheel.filename), wheel.bytes);
    const main = `import json, os, sys, words
try:
    open(words.__file__, "a")
except OSError:
    print("closed")
print(json.dumps({"output": {"text": words.greet("you"), "executable": sys.executable}}))
`;
    const archive = await archiveOf({ 'main.py': main, 'requirements.txt': 'words==1.0\n' });
    const source = sourceOf(archive);
    const settings = { EXECUTOR_PYTHON_INDEX: 'none', EXECUTOR_WHEEL_HOUSE: wheelHouse };
    const { start, workFolder } = await openCode(settings);
    const manifest = manifestOf(archive, {
      command: ['python', 'main.py'],
      requirements: 'requirements.txt',
    });
    const runs = [0, 1].map((slot) => start(manifest, { slot, source }));
    const lines = [];
    for (const run of runs) {
      expect(await run.result, JSON.stringify(run.lines)).toMatchObject({
        outcome: 'succeeded',
        data: { text: ['hello you'] },
      });
      lines.push(...run.lines);
      expect(run.environments).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    }
    expect(lines.filter(({ line }) => line === 'preparing: installing packages')).toHaveLength(1);
    expect(lines.filter(({ line }) => line === 'closed')).toHaveLength(2);
    const folder = join(workFolder, 'prepared', ORG_ID, 'environments');
    const [name = ''] = readdirSync(folder);
    expect(statSync(join(folder, name, 'pyvenv.cfg'))).toMatchObject({ uid: process.geteuid?.(), nlink: 1 });
  });
});
