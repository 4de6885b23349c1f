import { describe, expect, it } from 'vitest';
import { nearestTests } from '../changed.mjs';

const FILES: Readonly<Record<string, string>> = {
  'services/gateway/test/runs/list/list-runs.test.ts': '',
  'services/gateway/test/runs/list/request.test.ts': "import { a } from '../../../src/runs/filter.ts';",
  'services/gateway/test/runs/count.test.ts': "import { b } from '../fixtures/runs.ts';",
  'services/gateway/test/fixtures/runs.ts':
    "import { c } from '../../src/runs/filter.ts';\nimport { d } from './runs.ts';",
  'services/gateway/test/system/runs/list.test.ts': "import { a } from '../../../src/runs/filter.ts';",
  'services/gateway/test/views/other.test.ts': "import { v } from '../../src/views/views.ts';",
  'services/scheduler/test/other.test.ts': "import { a } from '../../gateway/src/runs/filter.ts';",
};
const read = {
  testsIn: (workspace: string) =>
    Object.keys(FILES)
      .filter((file) => file.startsWith(`${workspace}/`) && file.endsWith('.test.ts'))
      .toSorted(),
  text: (file: string) => FILES[file] ?? '',
};
const nearest = (...changed: readonly string[]) =>
  nearestTests(changed, read).map((file) => file.replace('services/gateway/test/', ''));

describe('npm run verify -- --changed', () => {
  it('runs the tests that import a changed file, themselves or by a fixture', () => {
    expect(nearest('services/gateway/src/runs/filter.ts')).toEqual([
      'runs/count.test.ts',
      'runs/list/request.test.ts',
    ]);
    expect(nearest('services/gateway/test/fixtures/runs.ts')).toEqual(['runs/count.test.ts']);
  });

  it('runs the tests that are named after a changed file', () => {
    expect(nearest('services/gateway/src/runs/list.ts')).toEqual([
      'runs/list/list-runs.test.ts',
      'runs/list/request.test.ts',
    ]);
    expect(nearest('services/gateway/src/runs/count.decide.ts')).toEqual(['runs/count.test.ts']);
  });

  it('runs a changed test, unless it is of another tier', () => {
    expect(nearest('services/gateway/test/views/other.test.ts')).toEqual(['views/other.test.ts']);
    expect(nearest('services/gateway/test/system/runs/list.test.ts')).toEqual([]);
  });

  it('runs none after a change of a page', () => {
    expect(nearest('docs/a-page.md', 'package.json')).toEqual([]);
  });
});
