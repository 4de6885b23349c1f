import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INSTALLATION } from '../../src/isolation/supervisor-code.ts';
import type { Withheld } from '../../src/isolation/isolation.ts';
import { isWithin, visiblePaths } from '../../src/view/real-paths.ts';
import type { OperatorCommand } from '../../src/runners/operator-command.ts';
import { foundFor, programView } from '../../src/view/program-view.ts';
import { NOTHING_WITHHELD } from '../fixtures/limited.ts';
import { installed, link, write } from '../isolation/environments.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

/** Whether a program with this entry sees what is at a path. */
const seenBy = (
  entry: Partial<OperatorCommand>,
  withheld: Withheld = NOTHING_WITHHELD,
): ((path: string) => boolean) => {
  const view = programView({ command: '/bin/sh', args: [], env: {}, ...entry }, { device: '' }, withheld);
  const { readable, writable } = visiblePaths(view);
  return (path) => isWithin([...readable, ...writable], path);
};

/** A program with a helper beside it, a folder of models, and what is nobody's business. */
const machine = () => {
  const folder = temporaryFolder();
  return {
    folder,
    main: write(join(folder, 'models/app/main.py'), 'import helper'),
    helper: write(join(folder, 'models/app/helper.py'), ''),
    weights: write(join(folder, 'models/weights/x.safetensors'), ''),
    beside: write(join(folder, 'models/weights/y.safetensors'), ''),
    secret: write(join(folder, 'secrets/key'), ''),
  };
};

describe('what an argument leads to', () => {
  it('is a file of source with its folder, in which its modules are', () => {
    const { main, helper, weights, secret } = machine();
    const sees = seenBy({ args: ['-u', main] });
    expect([main, helper, weights, secret].map(sees)).toEqual([true, true, false, false]);
  });

  it.each([
    ['alone', (path: string) => ['--model', path]],
    ['after =', (path: string) => [`--model=${path}`]],
    ['after the = of a key', (path: string) => [`model.path=${path}`]],
  ])('is a path %s, and nothing beside it', (_, argsOf) => {
    const { weights, beside, helper } = machine();
    const sees = seenBy({ args: argsOf(weights) });
    expect([weights, beside, helper].map(sees)).toEqual([true, false, false]);
  });

  it('is a program with all that it needs, as a command is', () => {
    const { folder } = machine();
    const { home, file } = installed(join(folder, 'python'));
    const sees = seenBy({ command: '/usr/bin/env', args: ['-i', file] });
    expect(sees(join(home, 'lib/python3.12/os.py'))).toBe(true);
  });

  it('is not what a program can make it lead to', () => {
    const { folder, secret } = machine();
    const written = join(folder, 'written');
    const [model, command] = [link(join(written, 'model'), secret), link(join(written, 'bin/tool'), secret)];
    const script = write(join(written, 'run'), `#!${secret}\n`, 0o755);
    for (const entry of [{ args: [`--model=${model}`] }, { command }, { command: script }]) {
      expect(seenBy({ ...entry, writable: [written] })(secret)).toBe(false);
      expect(seenBy({ ...entry, readable: [written] }, { own: [], written: [written] })(secret)).toBe(false);
    }
  });

  it('is a Python also from where a program writes, as that of a ComfyUI with its environment in its folder', () => {
    const { folder } = machine();
    const { home } = installed(join(folder, 'python'));
    const comfy = join(folder, 'ComfyUI');
    const command = link(join(comfy, 'venv/bin/python'), `${home}/bin/python3`);
    const sees = seenBy({ command, args: ['main.py'], cwd: comfy, writable: [comfy] });
    expect(sees(join(home, 'lib/python3.12/os.py'))).toBe(true);
  });

  it('is nothing of the executor, and no folder that holds it', () => {
    const { folder, main, helper, secret, weights } = machine();
    const own = { own: [join(folder, 'models/app/helper.py'), join(folder, 'secrets')], written: [] };
    const sees = seenBy({ args: [main, secret, folder, `--root=${join(folder, 'models')}`] }, own);
    expect([main, helper, secret, weights].map(sees)).toEqual([true, false, false, false]);
    expect(seenBy({ args: [INSTALLATION] })(join(INSTALLATION, 'package.json'))).toBe(false);
    expect(seenBy({ args: [join(INSTALLATION, 'package.json')] })(join(INSTALLATION, 'package.json'))).toBe(
      true,
    );
  });

  it('is no folder in which programs of other entries write, unless it is named', () => {
    const { folder, main, helper, weights } = machine();
    const output = join(folder, 'models/app/output');
    mkdirSync(output);
    const others = { own: [], written: [output] };
    expect([main, helper].map(seenBy({ args: [main] }, others))).toEqual([true, false]);
    expect(seenBy({ args: [main], writable: [output] }, others)(helper)).toBe(true);
    expect(seenBy({ args: [`--cache=${output}`] }, others)(join(output, 'x'))).toBe(true);
    expect(seenBy({ args: [weights] }, { own: [], written: [join(folder, 'models')] })(weights)).toBe(true);
  });

  it.each([['/etc'], ['/tmp'], ['/proc/self/environ'], ['/dev/stdin'], ['/home'], ['/usr/../root']])(
    'is not %s, which is of the whole machine',
    (path) => {
      const { shown } = foundFor({ command: '/bin/sh', args: [`--x=${path}`], env: {} }, NOTHING_WITHHELD);
      expect(
        shown.filter((each) =>
          ['/etc', '/tmp', '/proc', '/dev', '/home', '/root'].some((all) => each.startsWith(all)),
        ),
      ).toEqual([]);
    },
  );

  it('is said where it is not shown', () => {
    const { folder, main } = machine();
    const { withheld } = foundFor(
      { command: '/bin/sh', args: [main], env: {} },
      { own: [join(folder, 'models/app/helper.py')], written: [] },
    );
    expect(withheld).toContainEqual({
      path: join(folder, 'models/app'),
      why: 'it is, holds or is in a folder of the executor',
    });
  });
});

describe('what a command leads to', () => {
  it('is a package of an environment that is edited elsewhere', () => {
    const { folder, helper } = machine();
    const { home, file } = installed(join(folder, 'python'));
    write(
      join(home, 'lib/python3.12/site-packages/_app.pth'),
      `import site\n${join(folder, 'models/app')}\n`,
    );
    expect(seenBy({ command: file })(helper)).toBe(true);
  });

  it('is a version of pyenv that is elsewhere', () => {
    const { folder } = machine();
    const { home } = installed(join(folder, 'elsewhere/3.12'));
    link(join(folder, 'pyenv/versions/3.12'), home);
    const command = write(join(folder, 'pyenv/shims/python'), '#!/usr/bin/env bash\n', 0o755);
    expect(seenBy({ command })(join(home, 'lib/python3.12/os.py'))).toBe(true);
  });

  it('is the packages of Node around it', () => {
    const { folder } = machine();
    const needed = write(join(folder, 'site/node_modules/needed/index.js'), '');
    const cli = write(join(folder, 'site/node_modules/tool/cli.js'), '#!/usr/bin/env node\n', 0o755);
    const command = link(join(folder, 'site/node_modules/.bin/tool'), cli);
    expect(seenBy({ command })(needed)).toBe(true);
  });

  it('is a virtual environment whose folder is in the PATH of the entry', () => {
    const { folder } = machine();
    const { home } = installed(join(folder, 'python'));
    write(join(folder, 'venv/pyvenv.cfg'), `home = ${home}/bin\n`);
    link(join(folder, 'venv/bin/python'), `${home}/bin/python3`);
    const sees = seenBy({ env: { PATH: `${join(folder, 'venv/bin')}:/bin` } });
    expect([join(folder, 'venv/pyvenv.cfg'), join(home, 'lib/python3.12/os.py')].map(sees)).toEqual([
      true,
      true,
    ]);
  });
});

describe('a path that an entry names', () => {
  it.each(['readable', 'writable'] as const)('as %s, and that does not exist, is said', (member) => {
    expect(() => seenBy({ [member]: ['/no/models'] })).toThrow(
      `/no/models, which its entry names as ${member}, does not exist: make or mount it, or take it out of the entry`,
    );
  });

  it.each(['readable', 'writable', 'cwd'] as const)(
    'as %s, is not where a program made it lead',
    (member) => {
      const { folder, secret } = machine();
      const written = join(folder, 'written');
      const models = link(join(written, 'models'), join(folder, 'secrets'));
      const entry = { [member]: member === 'cwd' ? models : [models] };
      expect(() => seenBy(entry, { own: [], written: [written] })).toThrow(
        `${models}, which its entry names as ${member}, leads through ${models}, which a program may have made: name ${join(folder, 'secrets')} instead`,
      );
      expect(seenBy({ env: { PATH: models } }, { own: [], written: [written] })(secret)).toBe(false);
      expect(seenBy(entry)(secret)).toBe(true);
    },
  );
});

describe('a link', () => {
  it('is shown as it is on the machine, with the folders that it leads through', () => {
    const { folder, weights } = machine();
    mkdirSync(join(folder, 'through'));
    const model = link(join(folder, 'links/model'), '../through/../models/weights/x.safetensors');
    const loop = link(join(folder, 'links/loop'), 'loop');
    expect(visiblePaths({ readable: [model, loop], writable: [] })).toEqual({
      readable: [weights],
      writable: [],
      links: [{ path: model, target: '../through/../models/weights/x.safetensors' }],
      crossed: [join(folder, 'links'), join(folder, 'through')],
    });
  });
});
