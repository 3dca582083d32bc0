"""A bill of materials of an image, in CycloneDX's JSON (scripts/sbom.sh)."""
