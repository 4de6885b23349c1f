import { describe, expect, it } from 'vitest';
import { crowdedFolders, folderCircles } from '../../checks/folders.ts';
import type { Repository } from '../../checks/repository.ts';

const repositoryOf = (texts: Readonly<Record<string, string>>): Repository => ({
  files: Object.keys(texts),
  read: (file) => texts[file] ?? '',
});
const filesIn = (folder: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${folder}/file-${index}.ts`);

describe('a folder', () => {
  it('may hold at most 15 files', () => {
    const files = [...filesIn('a/src/full', 15), ...filesIn('a/src/crowded', 16)];
    expect(crowdedFolders({ files })).toEqual([
      'a/src/crowded holds 16 files, and a folder may hold 15. Divide it.',
    ]);
  });

  it('with numbered pages may hold any number', () => {
    expect(crowdedFolders({ files: filesIn('docs/adr', 40) })).toEqual([]);
  });
});

describe('the folders of a workspace', () => {
  it('may import each other in one direction', () => {
    const repository = repositoryOf({
      'packages/a/src/one/a.ts': "import { b } from '../two/b.ts';",
      'packages/a/src/two/b.ts': "import { c } from './c.ts';",
      'packages/a/src/two/c.ts': '',
    });
    expect(folderCircles(repository)).toEqual([]);
  });

  it('may not import each other in a circle of any length, not even for types', () => {
    const repository = repositoryOf({
      'packages/a/src/one/a.ts': "import { b } from '../two/b.ts';",
      'packages/a/src/two/b.ts': "import type { C } from '../three/c.ts';",
      'packages/a/src/three/c.ts': "export const c = () => import('../one/d.ts');",
      'packages/a/src/one/d.ts': '',
    });
    expect(folderCircles(repository)).toEqual([
      'These folders import each other in a circle: packages/a/src/one, packages/a/src/three, packages/a/src/two.',
    ]);
  });
});
