import { randomBytes } from 'node:crypto';
import { runConfiguredService } from '@runledger/service-kit/configured-service';
import { configSchema, readGatewayConfig } from './config.ts';
import { startGateway } from './start.ts';

await runConfiguredService(
  {
    name: 'gateway',
    configSchema,
    readConfig: readGatewayConfig,
    instance: () => `gateway-${randomBytes(6).toString('hex')}`,
    start: startGateway,
  },
  process.env,
);
