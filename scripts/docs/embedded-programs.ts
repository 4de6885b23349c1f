import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const HARNESS = 'services/gpu-executor/src/code/harness';

/** Files that an executor writes beside the code of a version, by their names there. */
const HARNESSES = {
  python: {
    'cog.py': `${HARNESS}/cog.py`,
    'runledger_harness.py': `${HARNESS}/runledger_harness.py`,
    'runledger_inputs.py': `${HARNESS}/runledger_inputs.py`,
    'runledger_outputs.py': `${HARNESS}/runledger_outputs.py`,
    'runledger_resident.py': 'packages/resident-python/src/runledger_resident/__init__.py',
  },
  comfyui: { 'runledger_comfyui.py': `${HARNESS}/runledger_comfyui.py` },
  node: {
    'harness.mjs': `${HARNESS}/harness.mjs`,
    'resident.mjs': 'packages/resident/src/resident.ts',
  },
};

const textOf = (file: string): string => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return file.endsWith('.ts') ? stripTypeScriptTypes(text).replaceAll(/[^\S\n]+$/gm, '') : text;
};

const HEADER = '// Written by `npm run docs` from the files that it names. Do not edit it.\n';

/** Programs in other languages are files of their own, and come with ours as texts: a bundle and an image have no other files. */
export const harnessTexts = (): string => {
  const texts = Object.entries(HARNESSES).map(([language, files]) => {
    const lines = Object.entries(files).map(
      ([name, file]) => `  // ${file}\n  ${JSON.stringify(name)}: ${JSON.stringify(textOf(file))},\n`,
    );
    return `\nexport const ${language.toUpperCase()}_HARNESS: Readonly<Record<string, string>> = {\n${lines.join('')}};\n`;
  });
  return `${HEADER}${texts.join('')}`;
};

/** For Python on the machine of who sends a folder. */
export const signatureScript = (): string => {
  const file = 'apps/cli/src/folder/signature.py';
  return `${HEADER}\n// ${file}\nexport const SIGNATURE_SCRIPT = ${JSON.stringify(textOf(file))};\n`;
};
