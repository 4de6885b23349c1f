import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SERVICES } from './one-log.ts';
import { OWN_VIEWS, ownEnvironment } from './own-environment.ts';

const page = readFileSync(new URL('../../../../../docs/settings.md', import.meta.url), 'utf8');

it.each(SERVICES)('a %s starts with only the settings that its page names', (service) => {
  const section = page.split('\n## ').find((part) => part.startsWith(`${service}\n`)) ?? '';
  const broker = { NATS_URL: '', NATS_USER: '', NATS_PASSWORD: '', NATS_NKEY: '' };
  const views = { ...OWN_VIEWS, MONGODB_URL: '' };
  const env = ownEnvironment(service, { broker, views, gatewayPort: 0, healthPort: 0, folder: '', name: '' });
  for (const name of Object.keys(env)) expect(section).toMatch(new RegExp(`^- \`${name}\`[ :]`, 'm'));
});
