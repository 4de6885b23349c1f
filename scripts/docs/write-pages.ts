/** `npm run docs` writes what is generated from the code: pages of docs/, and programs of other languages as texts. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncApiPage } from './asyncapi-document.ts';
import { brokerPage } from './broker-page.ts';
import { harnessTexts, signatureScript } from './embedded-programs.ts';
import { errorsPage } from './errors-page.ts';
import { eventsPage } from './events-page.ts';
import { exportPage } from './export-page.ts';
import { openApiPage } from './openapi-page.ts';
import { settingsPage } from './settings-page.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DOCS = join(ROOT, 'docs');

export const PAGES = [
  { file: join(DOCS, 'asyncapi.json'), made: asyncApiPage },
  { file: join(DOCS, 'broker.md'), made: brokerPage },
  { file: join(DOCS, 'errors.md'), made: errorsPage },
  { file: join(DOCS, 'events.md'), made: eventsPage },
  { file: join(DOCS, 'export.md'), made: exportPage },
  { file: join(DOCS, 'openapi.json'), made: openApiPage },
  { file: join(DOCS, 'settings.md'), made: settingsPage },
  {
    file: join(ROOT, 'services', 'gpu-executor', 'src', 'code', 'generated', 'harness-texts.ts'),
    made: harnessTexts,
  },
  {
    file: join(ROOT, 'apps', 'cli', 'src', 'folder', 'generated', 'signature-script.ts'),
    made: signatureScript,
  },
];

if (import.meta.main) for (const { file, made } of PAGES) writeFileSync(file, made());
