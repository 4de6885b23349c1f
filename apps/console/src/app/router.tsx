import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { auditFilterIn } from '../organisation/audit-filter.ts';
import { runFilterIn } from '../runs/run-filter.ts';
import { RunsPage } from '../runs/runs-page.tsx';
import { chosenVersionsIn } from '../deploy/versions/chosen-versions.ts';
import { momentIn } from '../run/moment.ts';
import { SignInPage } from '../session/sign-in-page.tsx';
import { deliveryFilterIn } from '../webhooks/delivery-filter.ts';
import { NotFound } from './not-found.tsx';
import { Shell } from './shell.tsx';

const root = createRootRoute({ notFoundComponent: NotFound });

const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell });

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/runs' });
  },
});

const runs = createRoute({
  getParentRoute: () => shell,
  path: '/runs',
  validateSearch: runFilterIn,
  component: RunsPage,
});

const run = createRoute({
  getParentRoute: () => shell,
  path: '/runs/$runId',
  validateSearch: momentIn,
  component: lazyRouteComponent(() => import('../run/run-page.tsx'), 'RunPage'),
});

const deployments = createRoute({
  getParentRoute: () => shell,
  path: '/deployments',
  component: lazyRouteComponent(() => import('../deploy/deployments-page.tsx'), 'DeploymentsPage'),
});

const deployment = createRoute({
  getParentRoute: () => shell,
  path: '/deployments/$deploymentId',
  component: lazyRouteComponent(() => import('../deploy/deployment-page.tsx'), 'DeploymentPage'),
});

const workflows = createRoute({
  getParentRoute: () => shell,
  path: '/workflows',
  component: lazyRouteComponent(() => import('../deploy/workflows-page.tsx'), 'WorkflowsPage'),
});

const workflow = createRoute({
  getParentRoute: () => shell,
  path: '/workflows/$workflowId',
  validateSearch: chosenVersionsIn,
  component: lazyRouteComponent(() => import('../deploy/workflow-page.tsx'), 'WorkflowPage'),
});

const machines = createRoute({
  getParentRoute: () => shell,
  path: '/machines',
  component: lazyRouteComponent(() => import('../deploy/machines-page.tsx'), 'MachinesPage'),
});

const fleet = createRoute({
  getParentRoute: () => shell,
  path: '/fleet',
  component: lazyRouteComponent(() => import('../fleet/fleet-page.tsx'), 'FleetPage'),
});

const whatIf = createRoute({
  getParentRoute: () => shell,
  path: '/fleet/what-if',
  component: lazyRouteComponent(() => import('../fleet/what-if-page.tsx'), 'WhatIfPage'),
});

const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  validateSearch: deliveryFilterIn,
  component: lazyRouteComponent(() => import('../webhooks/webhooks-page.tsx'), 'WebhooksPage'),
});

const keys = createRoute({
  getParentRoute: () => shell,
  path: '/keys',
  component: lazyRouteComponent(() => import('../organisation/keys-page.tsx'), 'KeysPage'),
});

const people = createRoute({
  getParentRoute: () => shell,
  path: '/people',
  component: lazyRouteComponent(() => import('../organisation/people-page.tsx'), 'PeoplePage'),
});

const usage = createRoute({
  getParentRoute: () => shell,
  path: '/usage',
  component: lazyRouteComponent(() => import('../organisation/usage-page.tsx'), 'UsagePage'),
});

const audit = createRoute({
  getParentRoute: () => shell,
  path: '/audit',
  validateSearch: auditFilterIn,
  component: lazyRouteComponent(() => import('../organisation/audit-page.tsx'), 'AuditPage'),
});

const system = createRoute({
  getParentRoute: () => shell,
  path: '/system',
  component: lazyRouteComponent(() => import('../system/system-page.tsx'), 'SystemPage'),
});

const account = createRoute({
  getParentRoute: () => shell,
  path: '/account',
  component: lazyRouteComponent(() => import('../session/account-page.tsx'), 'AccountPage'),
});

const signIn = createRoute({ getParentRoute: () => root, path: '/sign-in', component: SignInPage });

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('../session/invitation-page.tsx'), 'InvitationPage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    shell.addChildren([
      home,
      runs,
      run,
      deployments,
      deployment,
      workflows,
      workflow,
      machines,
      fleet,
      whatIf,
      webhooks,
      keys,
      people,
      usage,
      audit,
      system,
      account,
    ]),
    signIn,
    invitation,
  ]),
  basepath: '/console',
  defaultPreload: 'intent',
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
