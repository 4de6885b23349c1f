import type { Route } from '../http/operation.ts';
import { checkDeploymentRoute } from './check-deployment.ts';
import { deploymentRoutes } from './deployments-routes.ts';
import { machineRoutes } from './machines-routes.ts';
import type { RecordRoutes } from './record-answers.ts';
import { workflowVersionRoutes } from './workflow-versions-routes.ts';
import { workflowRoutes } from './workflows-routes.ts';

/** The operations on the records that an organisation makes its runs from. */
export const catalogueRoutes = (parts: RecordRoutes): Route[] => [
  ...machineRoutes(parts),
  ...workflowRoutes(parts),
  ...workflowVersionRoutes(parts),
  checkDeploymentRoute(parts),
  ...deploymentRoutes(parts),
];
