import { catalogue } from './records/catalogue/catalogue.ts';
import { fileRecords } from './files/file-records.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { now, type GatewayParts } from './gateway-parts.ts';
import type { Route } from './door/operation.ts';
import type { RunServices } from './run-services.ts';
import { cancelRun } from './runs/facts/cancel-run.ts';
import { deleteRun } from './runs/facts/delete-run.ts';
import { erasureRecords, erasureRoutes } from './records/erasure.ts';
import { openErasures } from './keeping/erasures.ts';

/** The operations that erase organisations, and what does it. `open` ends it. */
export const erasureServices = (
  { log, views, isProjecting, logger, instance }: Omit<GatewayParts, 'metrics'>,
  { accounts, archive, current, expire, fresh, lists, outputs, room, stores }: RunServices,
  { conflict: onConflict }: GatewayMetrics,
  open: AsyncDisposableStack,
): Route[] => {
  const erasures = erasureRecords(log);
  const writing = { log, current, writer: { service: 'gateway', instance }, now, onConflict } as const;
  const files = { records: fileRecords(log), store: outputs.store };
  open.use(
    openErasures({
      ...writing,
      cancelRun: cancelRun({ ...writing, expire }),
      deleteRun: deleteRun({ ...writing, lists, room }),
      erasures,
      views,
      fresh,
      stores,
      eraseArchive: archive.eraseOrganisation,
      files,
      eraseMembers: (org_id) => accounts.memberships.erase(org_id),
      isProjecting,
      logger,
    }),
  );
  const records = catalogue(log);
  return erasureRoutes({ erasures, findOrganisation: (id) => records.getOrganisation(id), now });
};
