/** The page's files, separate so that the security policy need not allow inline code. */
import type { PageBundle } from '../../web/pages/bundle.ts';

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: string;
}

const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svcnet</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
</head>
<body>
<noscript>This page needs JavaScript to show the network.</noscript>
<script src="page.js"></script>
</body>
</html>
`;

/** @returns by name; the page itself is `''` */
export function pageAssets({ script, style }: PageBundle): ReadonlyMap<string, Asset> {
  return new Map([
    ['', { type: 'text/html', body: DOCUMENT }],
    ['page.js', { type: 'text/javascript', body: script }],
    ['page.css', { type: 'text/css', body: style }],
  ]);
}
